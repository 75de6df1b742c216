#include "protogcd/image/rand_augment.h"

#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/image/affine.h"
#include "protogcd/image/colour.h"
#include "protogcd/image/filter.h"

namespace protogcd {
namespace {

/// Evenly from `first` to `last`, in float32 as torch.linspace, whose last bit depends on the
/// machine.
float even_step(double first, double last, int bin) {
  return static_cast<float>(first + (last - first) * bin / (kMagnitudeBins - 1));
}

/// A picture of the published search was 331 pixels wide, and moved by up to 150. In float32: whole
/// pixels stay whole.
float farthest_shift(int side) {
  return static_cast<float>(150.0 / 331.0 * side);
}

}  // namespace

double augment_magnitude(AugmentKind kind, int bin, ImageSize size) {
  if (bin < 0 || bin >= kMagnitudeBins) throw InternalError("augment_magnitude: no such strength");
  switch (kind) {
    case AugmentKind::kShearX:
    case AugmentKind::kShearY:
      return even_step(0, 0.3, bin);
    case AugmentKind::kTranslateX:
      return even_step(0, farthest_shift(size.width), bin);
    case AugmentKind::kTranslateY:
      return even_step(0, farthest_shift(size.height), bin);
    case AugmentKind::kRotate:
      return even_step(0, 30, bin);
    case AugmentKind::kBrightness:
    case AugmentKind::kColor:
    case AugmentKind::kContrast:
    case AugmentKind::kSharpness:
      return even_step(0, 0.9, bin);
    case AugmentKind::kPosterize:
      return 8 - std::nearbyint(bin / ((kMagnitudeBins - 1) / 4.0));
    case AugmentKind::kSolarize:
      return even_step(255, 0, bin);
    default:
      return 0;
  }
}

bool is_signed(AugmentKind kind) {
  return kind >= AugmentKind::kShearX && kind <= AugmentKind::kSharpness;
}

void apply_augment(Image& image, AugmentKind kind, double magnitude) {
  switch (kind) {
    case AugmentKind::kIdentity:
      return;
    case AugmentKind::kShearX:
      image = sheared_x(image, magnitude);
      return;
    case AugmentKind::kShearY:
      image = sheared_y(image, magnitude);
      return;
    case AugmentKind::kTranslateX:
      image = shifted(image, static_cast<int>(magnitude), 0);
      return;
    case AugmentKind::kTranslateY:
      image = shifted(image, 0, static_cast<int>(magnitude));
      return;
    case AugmentKind::kRotate:
      image = rotated(image, magnitude);
      return;
    case AugmentKind::kBrightness:
      return change_brightness(image, 1 + magnitude);
    case AugmentKind::kColor:
      return change_saturation(image, 1 + magnitude);
    case AugmentKind::kContrast:
      return change_contrast(image, 1 + magnitude);
    case AugmentKind::kSharpness:
      return change_sharpness(image, 1 + magnitude);
    case AugmentKind::kPosterize:
      return posterise(image, static_cast<int>(magnitude));
    case AugmentKind::kSolarize:
      return solarise(image, magnitude);
    case AugmentKind::kAutoContrast:
      return stretch_contrast(image);
    case AugmentKind::kEqualize:
      return equalise(image);
  }
}

void rand_augment(Image& image, int operations, int bin, RandomStream& random) {
  for (int i = 0; i < operations; ++i) {
    const auto kind = static_cast<AugmentKind>(random.below(kAugmentKinds));
    const bool turned = random.chance(0.5);  // drawn for every operation: what follows stays
    const double magnitude = augment_magnitude(kind, bin, image.size());
    apply_augment(image, kind, turned && is_signed(kind) ? -magnitude : magnitude);
  }
}

}  // namespace protogcd
