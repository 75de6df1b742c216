#include "protogcd/cli/curl_download.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "protogcd/core/files.h"
#include "protogcd/core/scratch_folder.h"
#include "protogcd/core/text.h"
#include "protogcd/sweep/child_process.h"

namespace protogcd::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr int kRefusedByServer = 22, kCannotResume = 33;  // exit codes of curl

std::uint64_t bytes_of(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

std::string last_line(const fs::path& file) {
  const std::string text = read_text_file(file);
  return std::string(trim(split(trim(text), '\n').back()));
}

std::vector<std::string> curl_command(const Download& what) {
  return {what.curl.string(),
          "--fail",
          "--location",
          "--silent",
          "--show-error",
          "--connect-timeout",
          "30",
          "--speed-limit",  // bytes a second, below which it gives up after --speed-time
          "1",
          "--speed-time",
          "60",
          "--write-out",
          "%{http_code}",
          "--continue-at",
          "-",
          "--output",
          what.partial.string(),
          "--url",
          what.url};
}

/// Shows the file's growth until the program ends.
int wait_for_curl(ChildProcess& curl, const Download& what, const Context& context) {
  const std::uint64_t before = bytes_of(what.partial);
  const std::uint64_t missing = what.about_bytes - std::min(before, what.about_bytes);
  Progress progress("download", missing / kMegabyte, "MB", context.progress());
  std::uint64_t shown = 0;
  for (;;) {
    const auto code = curl.ended();
    const std::uint64_t grown = bytes_of(what.partial) - before;
    const std::uint64_t now = std::min(grown, missing) / kMegabyte;
    if (now > shown) progress.add(now - shown);
    shown = std::max(shown, now);
    if (code) return *code;
    if (context.interrupted()) {
      throw InterruptedError(
          fmt::format("stopped: {} keeps the first {:.0f} MB", what.partial.string(),
                      static_cast<double>(bytes_of(what.partial)) / 1e6),
          "the same command goes on from there");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace

std::optional<fs::path> find_curl() {
  const char* folders = std::getenv("PATH");
  for (const std::string& folder : split(folders != nullptr ? folders : "", ':')) {
    const fs::path program = fs::path(folder) / "curl";
    if (!folder.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

void download(const Download& what, const Context& context) {
  const ScratchFolder scratch;
  const fs::path status = scratch / "status", errors = scratch / "errors";
  ChildProcess curl(curl_command(what), status, errors);
  const int code = wait_for_curl(curl, what, context);
  // 416: the partial file had all of it already.
  if (code == 0 || (code == kRefusedByServer && read_text_file(status) == "416")) return;
  if (code == kCannotResume) {
    throw FileError(fmt::format("{}: the server cannot go on in the middle of a file", what.url),
                    fmt::format("remove {}, and the same command starts anew",
                                shell_word(what.partial.string())));
  }
  const auto signal = ended_by_signal(code);
  throw FileError(fmt::format("{}: the download failed: {}", what.url,
                              signal ? "curl was " + *signal : last_line(errors)));
}

}  // namespace protogcd::cli
