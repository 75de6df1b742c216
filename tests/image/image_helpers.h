// What the image tests share: random images, bytes of files, and reading a result that must be
// good.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protogcd/core/files.h"
#include "protogcd/core/random.h"
#include "protogcd/image/decode.h"
#include "tests/support/golden.h"

namespace protogcd::testing {

inline Image random_image(int width, int height, std::uint64_t position) {
  RandomStream stream({.seed = 1, .purpose = RandomPurpose::kTest, .position = position});
  Image image(width, height);
  for (auto& value : image.pixels) value = static_cast<std::uint8_t>(stream.next_word() >> 24);
  return image;
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string golden_file(const std::string& name) {
  return read_text_file(golden_folder() / name);
}

inline Image good(const ImageOrBad& result) {
  if (const auto* bad = std::get_if<BadImage>(&result)) {
    ADD_FAILURE() << bad->reason;
    return {};
  }
  return std::get<Image>(result);
}

/// The reason, or an empty text if the image could be read.
inline std::string reason(const ImageOrBad& result) {
  const auto* bad = std::get_if<BadImage>(&result);
  return bad != nullptr ? bad->reason : "";
}
inline std::string reason(const MaybeBad& bad) {
  return bad ? bad->reason : "";
}

}  // namespace protogcd::testing
