// Images stored as raw pixels inside one big file (CIFAR, SVHN, CIFAR-C): the file is mapped, and
// an image is copied out when asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "protogcd/image/image.h"

namespace protogcd {

/// Byte (channel, y, x) of record r lies at first + r * record_stride + channel * channel_stride +
/// y * row_stride + x * column_stride: one rule for planar (CIFAR), interleaved (numpy), Fortran
/// (MATLAB) order.
struct RecordFile {
  std::filesystem::path path;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  ///< what keeps `bytes` alive
  int width = 0;
  int height = 0;
  std::size_t count = 0;
  std::size_t first = 0;
  std::size_t record_stride = 0;
  std::size_t channel_stride = 0;
  std::size_t row_stride = 0;
  std::size_t column_stride = 0;
  std::vector<std::int32_t> labels;  ///< one per record

  /// Throws DataError, naming the file, unless every record lies within the bytes.
  void check() const;
  Image load(std::size_t record) const;
};

}  // namespace protogcd
