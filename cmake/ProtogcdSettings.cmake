# Compiler settings shared by every target of ours, and the one function that declares an area.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Debug information of a static libtorch-using binary is large; mold links it in a fraction of ld's time.
add_library(protogcd_settings INTERFACE)
target_include_directories(protogcd_settings INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/first>)
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM AND NOT PROTOGCD_FUZZ)
  target_link_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:-fuse-ld=mold>)
endif()
target_compile_options(protogcd_settings INTERFACE
  $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wcast-align;-Woverloaded-virtual>>
  $<$<BOOL:${PROTOGCD_WERROR}>:$<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Werror>>>)
# GCC 13's warning is wrong about functions that take a temporary and return a reference to something else.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>>)
endif()
# Files from elsewhere are read: a fault of ours shall end the process, not be used (SECURITY.md; tests/hardening.sh looks at the result).
# Sanitizers see more and are built without optimisation enough for _FORTIFY_SOURCE.
include(CheckPIESupported)
check_pie_supported()
if(NOT PROTOGCD_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL Linux)
  target_compile_options(protogcd_settings INTERFACE
    $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong;-fstack-clash-protection>>
    $<BUILD_INTERFACE:$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,$<CONFIG:Release>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>>)
  target_link_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:LINKER:-z,relro,-z,now,-z,noexecstack>)
endif()
if(PROTOGCD_SANITIZE)
  set(sanitizer_flags -fsanitize=${PROTOGCD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:${sanitizer_flags}>)
  target_link_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:${sanitizer_flags}>)
endif()
if(PROTOGCD_FUZZ)
  target_compile_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:-fsanitize=fuzzer-no-link>)
  target_compile_definitions(protogcd_settings INTERFACE $<BUILD_INTERFACE:FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION>)
endif()
if(PROTOGCD_COVERAGE)
  target_compile_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:--coverage>)
  target_link_options(protogcd_settings INTERFACE $<BUILD_INTERFACE:--coverage>)
endif()

# Messages of failed checks name source files: by names that say nothing of the machine that compiled them.
function(protogcd_unnamed_folders)
  foreach(folder ${ARGN})
    target_compile_options(protogcd_settings INTERFACE
      $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${folder}/=>>
      $<BUILD_INTERFACE:$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffile-prefix-map=${folder}/=>>)
  endforeach()
endfunction()

# protogcd_unity(TARGET): what several sources include is parsed once for all of them. The price is that an anonymous
# namespace is shared by the files of a target; builds without (the preset dev) hold every file to its own includes.
function(protogcd_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${PROTOGCD_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(PROTOGCD_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # it takes each of the sources for a header
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# protogcd_aten(TARGET): a library with sources that include ATen, which takes 6 s to parse. All share one precompiled header, so
# all are compiled with the same flags.
#
# One of them is for OpenMP: at::parallel_for is a plain loop without it. The runtime is that of libtorch, libgomp, as two
# runtimes in a process would keep two pools of threads that compete for the cores. GCC's code calls it. clang's does not:
# with -fopenmp=libgomp clang 16 neither defines _OPENMP nor makes parallel code (no GOMP_parallel in the object, the loop is
# plain), and with -fopenmp it calls libomp, the second runtime. So these loops are plain where clang compiles them: right,
# and slower on several cores. libtorch's own operations are as fast as ever.
function(protogcd_aten target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
    target_link_libraries(${target} PUBLIC gomp)
  endif()
  if(NOT TARGET protogcd_precompiled)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      message(STATUS "Parallel loops of our own run on one thread (${CMAKE_CXX_COMPILER_ID}); GCC makes them parallel")
    endif()
    file(WRITE ${PROJECT_BINARY_DIR}/generated/precompiled.cpp "")
    add_library(protogcd_precompiled OBJECT ${PROJECT_BINARY_DIR}/generated/precompiled.cpp)
    target_include_directories(protogcd_precompiled PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(protogcd_precompiled PRIVATE torch fmt::fmt nlohmann_json::nlohmann_json protogcd_settings)
    target_compile_options(protogcd_precompiled PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
    target_precompile_headers(protogcd_precompiled PRIVATE <ATen/ATen.h> <ATen/Parallel.h> <fmt/core.h>
      ${PROJECT_SOURCE_DIR}/protogcd/core/json.h <algorithm> <filesystem> <functional> <map> <optional>)
  endif()
  target_precompile_headers(${target} REUSE_FROM protogcd_precompiled)
endfunction()

# protogcd_area(NAME [LIGHT] USES <areas and libraries> [HIDES <libraries not seen in headers>] SOURCES <files>)
# LIGHT: its code waits for files and people; optimising it would only take the compiler's time.
function(protogcd_area name)
  cmake_parse_arguments(area "LIGHT" "" "USES;HIDES;SOURCES" ${ARGN})
  add_library(protogcd_${name} STATIC ${area_SOURCES})
  add_library(protogcd::${name} ALIAS protogcd_${name})
  set_target_properties(protogcd_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(protogcd_${name} PUBLIC cxx_std_20)
  target_include_directories(protogcd_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(protogcd_${name} PUBLIC ${area_USES} PRIVATE ${area_HIDES} fmt::fmt protogcd_settings)
  protogcd_unity(protogcd_${name})
  if(area_LIGHT)
    target_compile_options(protogcd_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(torch IN_LIST area_USES OR area_USES MATCHES "protogcd::nn")
    protogcd_aten(protogcd_${name})
    set_property(GLOBAL APPEND PROPERTY PROTOGCD_TORCH_AREAS ${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY PROTOGCD_AREAS ${name})
endfunction()

# protogcd_cuda(NAME files): the kernels of an area, where the torch it is built against brings the CUDA language along.
function(protogcd_cuda name)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT CUDA IN_LIST languages)
    return()
  endif()
  target_sources(protogcd_${name} PRIVATE ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(protogcd_${name} PROPERTIES CUDA_STANDARD 20 CUDA_ARCHITECTURES "80;90")
  target_compile_definitions(protogcd_${name} PRIVATE PROTOGCD_WITH_CUDA)
endfunction()
