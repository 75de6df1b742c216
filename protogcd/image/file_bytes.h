// Numbers and texts at any place of a file's bytes; beyond the end there is nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace protogcd {

class FileBytes {
 public:
  explicit FileBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }

  std::optional<std::uint64_t> number(std::uint64_t at, std::size_t count, bool big_endian) const {
    if (at > bytes_.size() || bytes_.size() - at < count) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t from = big_endian ? at + i : at + count - 1 - i;
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[from]);
    }
    return value;
  }
  std::optional<std::uint64_t> big_endian(std::uint64_t at, std::size_t count) const {
    return number(at, count, true);
  }
  std::optional<std::uint64_t> little_endian(std::uint64_t at, std::size_t count) const {
    return number(at, count, false);
  }
  bool has_text(std::uint64_t at, std::string_view text) const {
    return at <= bytes_.size() && bytes_.size() - at >= text.size() &&
           std::memcmp(bytes_.data() + at, text.data(), text.size()) == 0;
  }
  /// At most `count` bytes from there on.
  std::span<const std::byte> part(std::uint64_t at, std::uint64_t count) const {
    if (at >= bytes_.size()) return {};
    const auto rest = bytes_.subspan(at);
    return rest.first(count < rest.size() ? count : rest.size());
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace protogcd
