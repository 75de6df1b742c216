# Every third-party library the project uses, found once. All are installed packages; nothing is downloaded here.
include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
# libtorch's include folder carries another fmt, which would be found before the system's one that we link: this link,
# searched first, keeps ours. (Our public headers do not use fmt, so users of the library never meet the clash.)
find_path(FMT_INCLUDE_DIR fmt/format.h NO_CMAKE_FIND_ROOT_PATH)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/first)
file(CREATE_LINK ${FMT_INCLUDE_DIR}/fmt ${PROJECT_BINARY_DIR}/first/fmt SYMBOLIC)
find_package(spdlog REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED
  HINTS ${PROJECT_SOURCE_DIR}/carry/include
  DOC "Folder that holds toml++/toml.h (Debian: libtomlplusplus-dev)")

# Formats that are read where their library is found; a build without says so of every such file it meets.
# protogcd_image_library(<option> <title> <library> <header> <text that a new enough header holds> <Debian's package>)
function(protogcd_image_library format title library header text package)
  find_path(${format}_INCLUDE_DIR ${header})
  find_library(${format}_LIBRARY ${library})
  set(found OFF)
  if(${format}_INCLUDE_DIR AND ${format}_LIBRARY)
    file(STRINGS ${${format}_INCLUDE_DIR}/${header} lines REGEX ${text})
    if(lines)
      set(found ON)
    endif()
  endif()
  option(PROTOGCD_${format} "Read ${title} images (lib${library})" ${found})
  if(PROTOGCD_${format} AND NOT found)
    message(FATAL_ERROR "PROTOGCD_${format} is ON, but no lib${library} with ${text} was found (Debian: ${package})")
  endif()
  string(TOLOWER protogcd_${format} target)
  if(PROTOGCD_${format} AND NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${${format}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${${format}_INCLUDE_DIR})
  endif()
endfunction()
protogcd_image_library(WEBP WebP webp webp/decode.h WebPDecode libwebp-dev)
protogcd_image_library(TIFF TIFF tiff tiffio.h TIFFOpenOptionsSetMaxSingleMemAlloc libtiff-dev) # 4.5
protogcd_image_library(HEIF "HEIC and AVIF" heif libheif/heif.h convert_hdr_to_8bit libheif-dev)

if(PROTOGCD_TORCH AND PROTOGCD_BINDINGS AND NOT CMAKE_PREFIX_PATH MATCHES "torch")
  # `pip install .`: the torch that the module will be used with.
  execute_process(COMMAND ${Python_EXECUTABLE} -c
    "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0] + '/share/cmake')"
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE torch_folder COMMAND_ERROR_IS_FATAL ANY)
  list(APPEND CMAKE_PREFIX_PATH ${torch_folder})
endif()
if(PROTOGCD_TORCH)
  # `make` passes the folder found by scripts/setup.sh; Torch's own find module warns about everything it does not need.
  find_package(Torch REQUIRED)
  if(Torch_VERSION VERSION_LESS 2.11)
    message(FATAL_ERROR "libtorch ${Torch_VERSION} is too old: 2.11 or newer is needed (set TORCH_DIR, or run make setup)")
  endif()
  # Its C++ interface is kept within a minor version.
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" PROTOGCD_TORCH_MINOR ${Torch_VERSION})
endif()
if(PROTOGCD_TESTS)
  find_package(GTest REQUIRED)
endif()
