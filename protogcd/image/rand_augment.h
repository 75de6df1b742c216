// RandAugment (Cubuk et al. 2020) with torchvision's list of operations and strengths.
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/image/image.h"

namespace protogcd {

enum class AugmentKind {
  kIdentity,
  kShearX,
  kShearY,
  kTranslateX,
  kTranslateY,
  kRotate,
  kBrightness,
  kColor,
  kContrast,
  kSharpness,
  kPosterize,
  kSolarize,
  kAutoContrast,
  kEqualize
};
constexpr int kAugmentKinds = 14;
/// Strengths are a number of these.
constexpr int kMagnitudeBins = 31;

/// What strength `bin` (0 to 30) of an operation comes to on an image of this size: a slope,
/// pixels, degrees, what is added to a factor of 1, bits or a threshold.
double augment_magnitude(AugmentKind kind, int bin, ImageSize size);
/// Whether the strength may also be taken in the other direction.
bool is_signed(AugmentKind kind);
void apply_augment(Image& image, AugmentKind kind, double magnitude);

/// So many operations one after another, each drawn uniformly from all, in either direction.
void rand_augment(Image& image, int operations, int bin, RandomStream& random);

}  // namespace protogcd
