# `cmake --install`: the program, one static library per area, headers, and a CMake package (find_package(protogcd)).
include(CMakePackageConfigHelpers)
get_property(areas GLOBAL PROPERTY PROTOGCD_AREAS)
list(TRANSFORM areas PREPEND protogcd_)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/protogcd)

install(TARGETS protogcd RUNTIME)
install(TARGETS ${areas} protogcd_settings EXPORT protogcd ARCHIVE)
install(EXPORT protogcd NAMESPACE protogcd:: DESTINATION ${package_folder})
# The public headers are those of api/ and what they include; tests/core/architecture_test.cpp holds this list to that.
set(public_headers
  analysis/accuracy.h
  api/class_number.h
  api/demo.h
  api/discover.h
  api/model.h
  core/context.h
  core/error.h
  core/files.h
  core/log.h
  core/option_name.h
  core/progress.h
  core/stop.h
  run/class_number.h
  run/evaluation.h
  run/found_classes.h
  run/predictions_table.h
  run/run_result.h)
foreach(header ${public_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES protogcd/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/protogcd/${folder})
endforeach()
configure_package_config_file(cmake/protogcdConfig.cmake.in ${PROJECT_BINARY_DIR}/protogcdConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/protogcdConfig.cmake ${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake
  DESTINATION ${package_folder})
