// A strong view: a crop of another scale, and changes of colour and sharpness. Definitions are
// those of torchvision on Pillow's images; what is drawn depends on the stream of random numbers
// alone. docs/strong-views.md says what was chosen and why.
#pragma once

#include <string>

#include "protogcd/core/options.h"
#include "protogcd/core/random.h"
#include "protogcd/image/image.h"
#include "protogcd/image/resize.h"

namespace protogcd {

enum class StrongRecipe {
  kJitter,       ///< colours, greyness, blur and solarisation, each with a probability
  kRandAugment,  ///< some operations of RandAugment's list
  kCrop          ///< the crop alone
};

/// Every recipe begins with a resized crop, mirrored in half of the cases.
struct StrongViewOptions {
  StrongRecipe recipe = StrongRecipe::kJitter;
  double least_area = 0.2;  ///< of the image, that a crop takes; the most is all of it

  // Of kJitter: probabilities, and how far the jitter goes.
  double jitter = 0.8, grey = 0.2, blur = 0.5, solarise = 0.2;
  double brightness = 0.4, contrast = 0.4, saturation = 0.2, hue = 0.1;

  // Of kRandAugment.
  std::int64_t operations = 2, magnitude = 9;
};

/// As a group of options, those of the recipe that are worth a change.
void declare_strong_view_options(OptionTable& table, StrongViewOptions& options);
/// All that the views depend on, in words.
std::string in_words(const StrongViewOptions& options);

/// RandomResizedCrop's window: an area uniform in [least_area, 1] of the image's, a ratio of width
/// to height log-uniform in [3/4, 4/3]; after ten windows that do not fit, the largest in the
/// middle.
ImageBox draw_resized_crop(ImageSize size, double least_area, RandomStream& random);

/// ColorJitter: brightness, contrast, saturation and hue in an order that is drawn, each by a
/// factor uniform in [1 - x, 1 + x] (not below 0), the hue by a turn uniform in [-x, x].
void jitter_colours(Image& image, const StrongViewOptions& options, RandomStream& random);

/// Makes views one after another and keeps its buffers; one per thread.
class StrongViewMaker {
 public:
  /// A view of `side` x `side` pixels of the whole image.
  void make(const Image& image, int side, const StrongViewOptions& options, RandomStream& random,
            Image& view);

 private:
  Resizer resizer_;
};

}  // namespace protogcd
