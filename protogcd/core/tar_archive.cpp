#include "protogcd/core/tar_archive.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::size_t kBlock = 512;

/// A field of a header: its bytes up to the first zero.
std::string_view tar_text(std::string_view header, std::size_t offset, std::size_t size) {
  const std::string_view field = header.substr(offset, size);
  return field.substr(0, field.find('\0'));
}

/// Octal digits, or where the highest bit is set a number of 8 bytes, as GNU has large sizes.
std::optional<std::uint64_t> tar_number(std::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (const char c : field.substr(field.size() - 8))
      value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  const std::string_view digits = trim(field.substr(0, field.find('\0')));
  for (const char c : digits) {
    if (c < '0' || c > '7' || value >> 60 != 0) return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

/// Of all bytes, those of the sum itself counted as blanks.
bool has_right_sum(std::string_view header) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return tar_number(header.substr(148, 8)) == sum;
}

/// What an extended header says of the next file: "27 path=a/very/long/name\n", one line each.
std::optional<std::string> pax_value(std::string_view records, std::string_view key) {
  std::optional<std::string> value;
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    const auto length = parse_unsigned(records.substr(0, blank));
    if (blank == records.npos || !length || *length <= blank + 1 || *length > records.size())
      return std::nullopt;
    const std::string_view record = records.substr(blank + 1, *length - blank - 2);
    const std::size_t equals = record.find('=');
    if (record.substr(0, equals) == key && equals != record.npos) value = record.substr(equals + 1);
    records.remove_prefix(*length);
  }
  return value;
}

}  // namespace

void for_each_file_in_tar(std::span<const std::byte> archive, const std::string& origin,
                          const std::function<void(const TarFile&)>& use) {
  const std::string_view all(reinterpret_cast<const char*>(archive.data()), archive.size());
  std::optional<std::string> long_name, long_size;  // of the file that comes next
  for (std::size_t offset = 0; offset < all.size();) {
    const auto fail = [&](const std::string& what) {
      throw DataError(fmt::format("{}: no tar archive: {} at byte {}", origin, what, offset));
    };
    if (all.size() - offset < kBlock) fail("a header is cut off");
    const std::string_view header = all.substr(offset, kBlock);
    if (header.find_first_not_of('\0') == header.npos) return;  // the end, whatever follows
    if (!has_right_sum(header)) fail("a damaged header");
    auto size = tar_number(header.substr(124, 12));
    if (long_size) size = parse_unsigned(*long_size);
    if (!size) fail("a size that is no number");
    const std::size_t begin = offset + kBlock;
    if (*size > all.size() - begin) fail("a file that reaches beyond the end");
    const std::string_view content = all.substr(begin, *size);
    const char type = header[156];
    if (type == 'L') {
      long_name = content.substr(0, content.find('\0'));
    } else if (type == 'x') {
      if (auto path = pax_value(content, "path")) long_name = std::move(path);
      long_size = pax_value(content, "size");
    } else if (type != 'K' && type != 'g') {  // where a link leads; what holds for all files
      const bool is_link = type == '1' || type == '2';
      if (type == '0' || type == '\0' || type == '7' || is_link) {
        std::string name = long_name.value_or(std::string(tar_text(header, 0, 100)));
        const std::string_view folder = tar_text(header, 345, 155);
        if (!long_name && header.substr(257, 6) == std::string_view("ustar\0", 6) &&
            !folder.empty())
          name = fmt::format("{}/{}", folder, name);
        use({.name = name, .bytes = archive.subspan(begin, *size), .is_link = is_link});
      }
      long_name.reset();
      long_size.reset();
    }
    const std::size_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    offset = begin + std::min(padded, all.size() - begin);
  }
}

}  // namespace protogcd
