#include "protogcd/core/json_lines.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"

namespace protogcd {

void append_line(const std::filesystem::path& file, std::string_view line) {
  const std::string text = fmt::format("{}\n", line), name = file.string();
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  const auto fail = [&](int code) {
    if (descriptor >= 0) ::close(descriptor);
    throw FileError(fmt::format("{}: {}", name, std::strerror(code)));
  };
  if (descriptor < 0) fail(errno);
  const ssize_t written = ::write(descriptor, text.data(), text.size());
  if (written < 0) fail(errno);
  if (static_cast<std::size_t>(written) != text.size()) fail(ENOSPC);
  if (::fsync(descriptor) != 0) fail(errno);
  ::close(descriptor);
}

void keep_json_lines_before(const std::filesystem::path& file, const std::string& key,
                            std::int64_t limit) {
  if (!std::filesystem::exists(file)) return;
  std::istringstream lines(read_text_file(file));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_json_or_discard(line);
    // The last line may have been cut short.
    if (json.is_object() && json.value(key, limit) < limit) kept += line + "\n";
  }
  write_file_atomically(file, kept);
}

}  // namespace protogcd
