# `cmake --install`: the program, one static library per area, headers, and a CMake package (find_package(protogcd)).
include(CMakePackageConfigHelpers)
get_property(areas GLOBAL PROPERTY PROTOGCD_AREAS)
list(TRANSFORM areas PREPEND protogcd_)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/protogcd)

install(TARGETS protogcd RUNTIME)
install(TARGETS ${areas} protogcd_settings EXPORT protogcd ARCHIVE)
install(EXPORT protogcd NAMESPACE protogcd:: DESTINATION ${package_folder})
install(DIRECTORY protogcd ${PROJECT_BINARY_DIR}/generated/protogcd
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "toml_checked.h" EXCLUDE)
configure_package_config_file(cmake/protogcdConfig.cmake.in ${PROJECT_BINARY_DIR}/protogcdConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/protogcdConfig.cmake ${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake
  DESTINATION ${package_folder})
