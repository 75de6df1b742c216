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

# WebP is read where its library is found; a build without says so of every WebP file it meets.
find_path(WEBP_INCLUDE_DIR webp/decode.h)
find_library(WEBP_LIBRARY webp)
set(webp_found OFF)
if(WEBP_INCLUDE_DIR AND WEBP_LIBRARY)
  set(webp_found ON)
endif()
option(PROTOGCD_WEBP "Read WebP images (libwebp)" ${webp_found})
if(PROTOGCD_WEBP AND NOT webp_found)
  message(FATAL_ERROR "PROTOGCD_WEBP is ON, but libwebp was not found (Debian: libwebp-dev)")
endif()
if(PROTOGCD_WEBP AND NOT TARGET protogcd_webp)
  add_library(protogcd_webp UNKNOWN IMPORTED)
  set_target_properties(protogcd_webp PROPERTIES IMPORTED_LOCATION ${WEBP_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${WEBP_INCLUDE_DIR})
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
