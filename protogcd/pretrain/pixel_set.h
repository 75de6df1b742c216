// Labelled images, decoded once to one size and kept where the network computes: 8-bit pixels, so
// that a step gathers its batch without touching a file.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/data/sample.h"
#include "protogcd/image/decode.h"

namespace protogcd {

struct PixelSet {
  at::Tensor pixels;         ///< [N, 3, S, S] uint8
  at::Tensor labels;         ///< [N] int64
  std::int64_t classes = 0;  ///< that the data names
  std::size_t skipped = 0;   ///< images that could not be read
  std::string digest;        ///< of every path, label and pixel

  std::int64_t size() const { return labels.size(0); }
};

/// Every image whose class is known: its short side resized to `size`, the middle cut out.
/// DeviceError where they do not fit into memory.
PixelSet load_pixels(const Dataset& dataset, std::int64_t size, const DecodeOptions& decode,
                     at::Device device, const BadImagePolicy& policy, const Context& context);

}  // namespace protogcd
