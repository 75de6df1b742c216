#include "protogcd/image/strong_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "protogcd/core/error.h"
#include "protogcd/image/colour.h"
#include "protogcd/image/filter.h"
#include "protogcd/image/rand_augment.h"
#include "protogcd/image/transform.h"

namespace protogcd {
namespace {

constexpr double kNarrowest = 3.0 / 4.0, kWidest = 4.0 / 3.0;  // ratio of a crop's sides
constexpr int kCropTries = 10;
constexpr double kFlipShare = 0.5;
constexpr double kLeastBlur = 0.1, kMostBlur = 2.0;  // radius in pixels
constexpr double kSolariseFrom = 128;

/// Python's round: half goes to the even neighbour.
int rounded(double value) {
  return static_cast<int>(std::nearbyint(value));
}

/// The largest window in the middle whose ratio is allowed.
ImageBox middle_crop(ImageSize size) {
  const double ratio = static_cast<double>(size.width) / size.height;
  ImageSize window = size;
  if (ratio < kNarrowest) window.height = rounded(size.width / kNarrowest);
  if (ratio > kWidest) window.width = rounded(size.height * kWidest);
  return {(size.width - window.width) / 2, (size.height - window.height) / 2, window.width,
          window.height};
}

void mirror(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width / 2; ++x)
      std::swap_ranges(image.at(x, y), image.at(x, y) + 3, image.at(image.width - 1 - x, y));
  }
}

const char* recipe_name(StrongRecipe recipe) {
  switch (recipe) {
    case StrongRecipe::kJitter:
      return "jitter";
    case StrongRecipe::kRandAugment:
      return "randaugment";
    default:
      return "crop";
  }
}

}  // namespace

void declare_strong_view_options(OptionTable& table, StrongViewOptions& options) {
  table.begin_group("Strong views");
  table.add_choice<StrongRecipe, StrongRecipe>(
      "strong_views", &options.recipe,
      {{"jitter", StrongRecipe::kJitter},
       {"randaugment", StrongRecipe::kRandAugment},
       {"crop", StrongRecipe::kCrop}},
      "what strong views are beside a resized crop: jitter of colours, grey, blur and "
      "solarisation; "
      "operations of RandAugment; or nothing (docs/strong-views.md)");
  table.add("strong_area", &options.least_area, "least share of an image that a strong view shows")
      .above(0)
      .at_most(1);
  const auto share = [&](const char* key, double* value, const char* help) {
    table.add(key, value, help).at_least(0).at_most(1);
  };
  share("strong_jitter", &options.jitter, "share of strong views with changed colours (jitter)");
  share("strong_grey", &options.grey, "share of grey strong views (jitter)");
  share("strong_blur", &options.blur, "share of blurred strong views (jitter)");
  share("strong_solarise", &options.solarise, "share of solarised strong views (jitter)");
  table.add("strong_operations", &options.operations, "operations a view (randaugment)")
      .at_least(0)
      .at_most(kAugmentKinds);
  table.add("strong_magnitude", &options.magnitude, "their strength (randaugment)")
      .at_least(0)
      .at_most(kMagnitudeBins - 1);
}

std::string in_words(const StrongViewOptions& o) {
  std::string words = fmt::format("{}, area from {}", recipe_name(o.recipe), o.least_area);
  if (o.recipe == StrongRecipe::kJitter) {
    words +=
        fmt::format(", colours {} {} {} {} in {}, grey {}, blur {}, solarised {}", o.brightness,
                    o.contrast, o.saturation, o.hue, o.jitter, o.grey, o.blur, o.solarise);
  }
  if (o.recipe == StrongRecipe::kRandAugment)
    words += fmt::format(", {} operations of strength {}", o.operations, o.magnitude);
  return words;
}

ImageBox draw_resized_crop(ImageSize size, double least_area, RandomStream& random) {
  const auto all = static_cast<double>(size.pixels());
  for (int i = 0; i < kCropTries; ++i) {
    const double area = all * random.uniform(least_area, 1);
    const double ratio = std::exp(random.uniform(std::log(kNarrowest), std::log(kWidest)));
    const int width = rounded(std::sqrt(area * ratio)), height = rounded(std::sqrt(area / ratio));
    if (width <= 0 || height <= 0 || width > size.width || height > size.height) continue;
    const auto top = static_cast<int>(random.between(0, size.height - height));
    const auto left = static_cast<int>(random.between(0, size.width - width));
    return {left, top, width, height};
  }
  return middle_crop(size);
}

void jitter_colours(Image& image, const StrongViewOptions& options, RandomStream& random) {
  std::array<int, 4> order;
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span<int>(order), random);
  const auto factor = [&](double reach) {
    return random.uniform(std::max(0.0, 1 - reach), 1 + reach);
  };
  const double brightness = factor(options.brightness), contrast = factor(options.contrast),
               saturation = factor(options.saturation),
               hue = random.uniform(-options.hue, options.hue);
  for (const int change : order) {
    if (change == 0) change_brightness(image, brightness);
    if (change == 1) change_contrast(image, contrast);
    if (change == 2) change_saturation(image, saturation);
    if (change == 3) change_hue(image, hue);
  }
}

void StrongViewMaker::make(const Image& image, int side, const StrongViewOptions& options,
                           RandomStream& random, Image& view) {
  const Image window =
      crop_image(image, draw_resized_crop(image.size(), options.least_area, random));
  resizer_.resize(window, window.size(), {0, 0, window.width, window.height}, {side, side},
                  {0, 0, side, side}, view);
  if (random.chance(kFlipShare)) mirror(view);
  if (options.recipe == StrongRecipe::kRandAugment)
    rand_augment(view, static_cast<int>(options.operations), static_cast<int>(options.magnitude),
                 random);
  if (options.recipe != StrongRecipe::kJitter) return;
  if (random.chance(options.jitter)) jitter_colours(view, options, random);
  if (random.chance(options.grey)) make_grey(view);
  if (random.chance(options.blur)) blur_image(view, random.uniform(kLeastBlur, kMostBlur));
  if (random.chance(options.solarise)) solarise(view, kSolariseFrom);
}

}  // namespace protogcd
