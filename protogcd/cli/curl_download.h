// A file from the network, fetched by the program curl, which brings proxies and certificates of
// the machine along.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/core/error.h"

namespace protogcd::cli {

/// curl's path; nothing where PATH has none.
std::optional<std::filesystem::path> find_curl();

struct Download {
  std::filesystem::path curl;
  std::string url;
  std::filesystem::path partial;  ///< goes on where it ends, and stays when the download stops
  std::uint64_t about_bytes = 0;  ///< for the display
};

/// Returns when the server has no more to send. FileError with curl's own words where it fails;
/// InterruptedError where the context is stopped.
void download(const Download& what, const Context& context);

}  // namespace protogcd::cli
