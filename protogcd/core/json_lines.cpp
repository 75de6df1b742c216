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
  if (descriptor < 0) throw FileError(fmt::format("{}: {}", name, std::strerror(errno)));
  const off_t old_size = ::lseek(descriptor, 0, SEEK_END);
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::write(descriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int code = errno;
      // Half a line is worse than none; where even this fails, readers pass over it.
      [[maybe_unused]] const int shortened = ::ftruncate(descriptor, old_size);
      ::close(descriptor);
      throw FileError(fmt::format("{}: {}", name, std::strerror(code)));
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  const int flushed = ::fsync(descriptor), code = errno;
  ::close(descriptor);
  if (flushed != 0) throw FileError(fmt::format("{}: {}", name, std::strerror(code)));
}

void keep_json_lines_before(const std::filesystem::path& file, const std::string& key,
                            std::int64_t limit) {
  if (!std::filesystem::exists(file)) return;
  std::istringstream lines(read_text_file(file));
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_json_or_discard(line);
    // The last line may have been cut short.
    if (!json.is_object()) continue;
    const auto number = json.find(key);
    if (number != json.end() && number->is_number() && *number < limit) kept += line + "\n";
  }
  write_file_atomically(file, kept);
}

}  // namespace protogcd
