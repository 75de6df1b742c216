#include "protogcd/pretrain/augment.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

/// Which number decides what.
enum Number { kFlipNumber, kArea, kProportion, kX, kY, kBrightness, kContrast, kSaturation };

at::Tensor number(const at::Tensor& numbers, Number which) {
  return numbers.select(1, which);  // [B]
}

at::Tensor flipped(const at::Tensor& images, const at::Tensor& numbers) {
  const at::Tensor turned = (number(numbers, kFlipNumber) < 0.5).view({-1, 1, 1, 1});
  return at::where(turned, images.flip({3}), images);
}

/// A window of 0.5 to 1 of the area and proportions of 3:4 to 4:3, mirrored every other time.
at::Tensor cropped(const at::Tensor& images, const at::Tensor& numbers) {
  const at::Tensor area = 0.5 + 0.5 * number(numbers, kArea);
  const at::Tensor proportion = at::exp((number(numbers, kProportion) * 2 - 1) * std::log(4.0 / 3));
  const at::Tensor width = at::sqrt(area * proportion).clamp_max(1),
                   height = at::sqrt(area / proportion).clamp_max(1);
  const at::Tensor mirror = at::where(number(numbers, kFlipNumber) < 0.5, -1.0, 1.0);
  const at::Tensor x = (number(numbers, kX) * 2 - 1) * (1 - width),
                   y = (number(numbers, kY) * 2 - 1) * (1 - height), zero = at::zeros_like(x);
  const at::Tensor window = at::stack({width * mirror, zero, x, zero, height, y}, 1)
                                .view({-1, 2, 3})
                                .to(images.scalar_type());
  const at::Tensor grid =
      at::affine_grid_generator(window, images.sizes(), /*align_corners=*/false);
  constexpr int kBilinear = 0, kBorder = 1;
  return at::grid_sampler(images, grid, kBilinear, kBorder, /*align_corners=*/false);
}

/// Factors of 0.6 to 1.4 on the distance to black, to the mean grey and to each pixel's own grey.
at::Tensor recoloured(const at::Tensor& images, const at::Tensor& numbers) {
  const auto factor = [&](Number which) {
    return (0.6 + 0.8 * number(numbers, which)).view({-1, 1, 1, 1}).to(images.scalar_type());
  };
  at::Tensor result = images * factor(kBrightness);
  const at::Tensor middle = result.mean({1, 2, 3}, /*keepdim=*/true);
  result = middle + (result - middle) * factor(kContrast);
  const at::Tensor grey = result.mean(1, /*keepdim=*/true);
  return (grey + (result - grey) * factor(kSaturation)).clamp(0, 1);
}

}  // namespace

const std::vector<std::string>& augment_names() {
  static const std::vector<std::string> kNames = {"none", "flip", "crop", "colour"};
  return kNames;
}

Augment parse_augment(const std::string& name) {
  const auto found = std::ranges::find(augment_names(), name);
  if (found == augment_names().end()) {
    throw UsageError(fmt::format("{}: '{}' is not allowed: expected one of {}",
                                 option_name("augment"), name, join(augment_names(), ", ")));
  }
  return static_cast<Augment>(found - augment_names().begin());
}

ViewMaker::ViewMaker(Augment augment, const Preprocessing& pixels, at::ScalarType type,
                     at::Device device)
    : augment_(augment), type_(type) {
  const auto channels = [&](const std::array<double, 3>& values) {
    return at::tensor(at::ArrayRef<double>(values.data(), 3), at::kDouble)
        .view({1, 3, 1, 1})
        .to(device, type);
  };
  mean_ = channels(pixels.mean);
  deviation_ = channels(pixels.deviation);
}

at::Tensor ViewMaker::normalised(const at::Tensor& values) const {
  return (values - mean_) / deviation_;
}

at::Tensor ViewMaker::plain(const at::Tensor& pixels) const {
  return normalised(pixels.to(type_) / 255);
}

at::Tensor ViewMaker::augmented(const at::Tensor& pixels, const at::Tensor& numbers) const {
  at::Tensor values = pixels.to(type_) / 255;
  if (augment_ == Augment::kFlip) values = flipped(values, numbers);
  if (augment_ >= Augment::kCrop) values = cropped(values, numbers);
  if (augment_ >= Augment::kColour) values = recoloured(values, numbers);
  return normalised(values);
}

}  // namespace protogcd
