# A Python module that was compiled before is packed as it is: one that is named (`make python`), or one that `make install` has put
# beside the library, if it was made of the same sources for the same Python.

# protogcd_source_digest(OUT): a folder's name for what a module is compiled from.
function(protogcd_source_digest out)
  file(GLOB_RECURSE sources ${PROJECT_SOURCE_DIR}/protogcd/*.h ${PROJECT_SOURCE_DIR}/protogcd/*.cpp ${PROJECT_SOURCE_DIR}/protogcd/*.cu
    ${PROJECT_SOURCE_DIR}/python/bindings/*)
  list(SORT sources)
  set(digests "")
  foreach(source ${sources})
    file(SHA256 ${source} digest)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    string(APPEND digests "${name} ${digest}\n")
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 16 digest)
  set(${out} ${digest} PARENT_SCOPE)
endfunction()

set(PROTOGCD_PYTHON_MODULE "" CACHE FILEPATH "A built protogcd._core to install; nothing is compiled")
# A build with formats of its own choice is compiled.
if(SKBUILD AND NOT PROTOGCD_PYTHON_MODULE AND NOT DEFINED PROTOGCD_HEIF AND NOT DEFINED PROTOGCD_TIFF)
  protogcd_source_digest(digest)
  foreach(prefix $ENV{PROTOGCD_PREFIX} $ENV{HOME}/.local /usr/local /usr)
    file(GLOB found ${prefix}/lib*/protogcd/python/${digest}/_core.${Python_SOABI}.so ${prefix}/lib/*/protogcd/python/${digest}/_core.${Python_SOABI}.so)
    if(found)
      list(GET found 0 PROTOGCD_PYTHON_MODULE)
      message(STATUS "The module is there already: ${PROTOGCD_PYTHON_MODULE}")
      break()
    endif()
  endforeach()
endif()
if(PROTOGCD_PYTHON_MODULE)
  add_custom_target(_core)
  install(FILES ${PROTOGCD_PYTHON_MODULE} DESTINATION protogcd COMPONENT python)
endif()
