// SHA-256 (FIPS 180-4): names the content of weight files and splits, and finds equal files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace protogcd {

class Sha256 {
 public:
  using Digest = std::array<std::uint8_t, 32>;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  /// The digest of everything so far; the object is of no further use.
  Digest finish();

 private:
  void compress(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

/// The digest in lower-case hexadecimal.
std::string sha256_hex(std::string_view text);
/// Of a file's content; FileError names the file if it cannot be read.
std::string sha256_file(const std::filesystem::path& path);
std::string hexadecimal(std::span<const std::uint8_t> bytes);

}  // namespace protogcd
