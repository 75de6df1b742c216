// 8-bit pixels to network input, changed at random or not, on whatever device they are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "protogcd/nn/vit_config.h"

namespace protogcd {

/// Each does what those before it do, and more.
enum class Augment {
  kNone,
  kFlip,    ///< mirrored, every other image
  kCrop,    ///< a window of half the area or more, of other proportions, resized to the whole
  kColour,  ///< brightness, contrast and saturation changed by up to 40%
};

/// The names of `--augment`, in the order of the values.
const std::vector<std::string>& augment_names();
/// UsageError for any other name.
Augment parse_augment(const std::string& name);

/// Uniform numbers in [0, 1) that a view takes, whatever is done with them.
constexpr std::int64_t kAugmentNumbers = 8;

class ViewMaker {
 public:
  ViewMaker(Augment augment, const Preprocessing& pixels, at::ScalarType type, at::Device device);

  /// pixels [B, 3, S, S] uint8, numbers [B, kAugmentNumbers or more] -> [B, 3, S, S].
  at::Tensor augmented(const at::Tensor& pixels, const at::Tensor& numbers) const;
  /// Normalised alone: what evaluation sees.
  at::Tensor plain(const at::Tensor& pixels) const;

 private:
  at::Tensor normalised(const at::Tensor& values) const;

  Augment augment_;
  at::ScalarType type_;
  at::Tensor mean_, deviation_;  ///< [1, 3, 1, 1]
};

}  // namespace protogcd
