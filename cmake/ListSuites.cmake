# Writes one ctest test for every suite of a GoogleTest program. Loading libtorch takes a quarter of a second, more than most tests: a
# process for each of them would double the time of `make test`.
# Called as: cmake -DPROGRAM=<file> -DLABEL=<label> -DOUTPUT=<file> -P ListSuites.cmake
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} does not list its tests")
endif()
string(REGEX MATCHALL "\n[^ \n][^\n]*\\.\n|\n[^ \n][^\n]*\\.  #[^\n]*\n" suites "\n${listed}")
set(text "")
foreach(suite ${suites})
  string(REGEX REPLACE "\\..*" "" suite "${suite}")
  string(STRIP "${suite}" suite)
  string(APPEND text "add_test([=[${LABEL}.${suite}]=] [=[${PROGRAM}]=] [=[--gtest_filter=${suite}.*]=])\n"
    "set_tests_properties([=[${LABEL}.${suite}]=] PROPERTIES LABELS [=[${LABEL}]=] TIMEOUT 600)\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
