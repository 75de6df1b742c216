# `cmake --install` and `make package`: the launcher and the program, completion, documents, licences; for other projects one
# static library per area, the public headers and a CMake package (find_package(protogcd)). Nothing of it names a folder of
# the machine that built it.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/protogcd)
set(document_folder ${CMAKE_INSTALL_DATADIR}/doc/protogcd)

install(TARGETS protogcd RUNTIME)
if(PROTOGCD_TORCH)
  # The launcher tells the loader where libtorch is.
  set_target_properties(protogcd_program PROPERTIES INSTALL_RPATH "" INSTALL_REMOVE_ENVIRONMENT_RPATH ON)
  install(TARGETS protogcd_program RUNTIME DESTINATION libexec/protogcd)
  # `make install`, for this machine alone, remembers the libtorch of the build.
  install(FILES ${PROJECT_BINARY_DIR}/libexec/protogcd/torch_folder DESTINATION libexec/protogcd COMPONENT this_machine EXCLUDE_FROM_ALL)

  set(completion ${PROJECT_BINARY_DIR}/completion)
  file(MAKE_DIRECTORY ${completion})
  add_custom_command(OUTPUT ${completion}/protogcd ${completion}/_protogcd
    COMMAND protogcd completion bash > ${completion}/protogcd
    COMMAND protogcd completion zsh > ${completion}/_protogcd
    DEPENDS protogcd protogcd_program VERBATIM)
  add_custom_target(protogcd_completion ALL DEPENDS ${completion}/protogcd ${completion}/_protogcd)
  install(FILES ${completion}/protogcd DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion}/_protogcd DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

install(FILES README.md CHANGELOG.md SECURITY.md CITATION.cff LICENSE DESTINATION ${document_folder})
install(DIRECTORY docs DESTINATION ${document_folder})
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/protogcd)
get_property(page_licences GLOBAL PROPERTY PROTOGCD_PAGE_LICENCES)
if(page_licences)
  install(FILES ${page_licences} DESTINATION ${document_folder})
endif()

# Areas without libtorch serve projects that have none.
get_property(areas GLOBAL PROPERTY PROTOGCD_AREAS)
get_property(torch_areas GLOBAL PROPERTY PROTOGCD_TORCH_AREAS)
list(REMOVE_ITEM areas ${torch_areas} cli sweep)  # the last two are the program's own
list(TRANSFORM areas PREPEND protogcd_)
list(TRANSFORM torch_areas PREPEND protogcd_)
install(TARGETS ${areas} protogcd_settings EXPORT protogcd_torch_free ARCHIVE)
install(EXPORT protogcd_torch_free NAMESPACE protogcd:: DESTINATION ${package_folder})
if(torch_areas)
  install(TARGETS ${torch_areas} EXPORT protogcd_with_torch ARCHIVE)
  install(EXPORT protogcd_with_torch NAMESPACE protogcd:: DESTINATION ${package_folder})
endif()

# The public headers are those of api/ and what they include; tests/core/architecture_test.cpp holds this list to that.
set(public_headers
  analysis/accuracy.h
  analysis/bootstrap.h
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
  run/confidence.h
  run/epoch_comparison.h
  run/evaluation.h
  run/found_classes.h
  run/predictions_table.h
  run/probability_columns.h
  run/findings_file.h
  run/run_result.h
  run/taken_from.h
  run/tuning.h)
foreach(header ${public_headers})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES protogcd/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/protogcd/${folder})
endforeach()
configure_package_config_file(cmake/protogcdConfig.cmake.in ${PROJECT_BINARY_DIR}/protogcdConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/protogcdConfig.cmake ${PROJECT_BINARY_DIR}/protogcdConfigVersion.cmake
  DESTINATION ${package_folder})

# `make package`; scripts/package.sh finds out which packages of the distribution hold the libraries that the program needs.
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME protogcd)
set(CPACK_PACKAGE_VERSION ${PROTOGCD_VERSION})
set(CPACK_PACKAGE_VENDOR "The protogcd authors")
set(CPACK_PACKAGE_CONTACT "The protogcd authors <protogcd@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Finds the categories hiding in a half-labelled image collection")
set(CPACK_PACKAGE_DESCRIPTION "protogcd classifies the classes that are known, discovers and clusters those that are not, says how\n\
many there are and flags what belongs to none. It needs libtorch ${PROTOGCD_TORCH_MINOR}, which it finds in the active Python environment\n\
(pip install 'torch==${PROTOGCD_TORCH_MINOR}.*') or in TORCH_DIR.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME protogcd-${PROTOGCD_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/PackageOf.cmake)
string(REPLACE "-" "~" CPACK_DEBIAN_PACKAGE_VERSION ${PROTOGCD_VERSION})  # 0.2.0~dev comes before 0.2.0
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS curl)  # weights get
set(CPACK_THREADS 0)
include(CPack)
