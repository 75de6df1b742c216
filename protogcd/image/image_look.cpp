#include "protogcd/image/image_look.h"

#include <algorithm>
#include <cmath>

namespace protogcd {
namespace {

// Detail is measured where the short side has about this many pixels: finer detail depends on
// camera and compression. A smaller image is measured at the size it is stored in, as one that was
// enlarged would seem blurred.
constexpr int kFineSide = 128;
constexpr int kCoarser = 4;
constexpr double kBrightPart = 0.95;
// Rounding to 8 bits has this variance; a second difference of five pixels has 20 times that.
constexpr double kRoundingEnergy = 20.0 / 12;

// Set by the demo collection and AID; how others fare: docs/findings.md.
constexpr double kDarkest = 40, kShareOfMedianBrightness = 1.0 / 3;
constexpr double kSoftest = -4.75, kDeviations = 3.5, kLeastDeviation = 0.1;
constexpr int kEnlarged = 2;
constexpr double kShareOfMedianSide = 0.25;
constexpr double kDeviationPerMad = 1.4826;  // of a normal distribution

struct Grey {
  int width = 0, height = 0;
  std::vector<float> values;

  Grey(int grey_width, int grey_height)
      : width(grey_width),
        height(grey_height),
        values(static_cast<std::size_t>(grey_width) * static_cast<std::size_t>(grey_height)) {}
  float* row(int y) { return values.data() + std::ptrdiff_t{y} * width; }
  const float* row(int y) const { return values.data() + std::ptrdiff_t{y} * width; }
};

/// Means of squares of `block` by `block` pixels; what is left over at the edges is not looked at.
Grey reduced_grey(const Image& image, int block) {
  Grey grey(image.width / block, image.height / block);
  const float scale = 1.0f / static_cast<float>(1000 * block * block);
  for (int y = 0; y < grey.height * block; ++y) {
    const std::uint8_t* pixel = image.at(0, y);
    float* row = grey.row(y / block);
    for (int x = 0; x < grey.width; ++x) {
      int sum = 0;
      for (int i = 0; i < block; ++i, pixel += 3)
        sum += 299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2];
      row[x] += static_cast<float>(sum) * scale;
    }
  }
  return grey;
}

Grey reduced(const Grey& grey, int block) {
  Grey coarse(grey.width / block, grey.height / block);
  const float scale = 1.0f / static_cast<float>(block * block);
  for (int y = 0; y < coarse.height * block; ++y) {
    const float* from = grey.row(y);
    float* row = coarse.row(y / block);
    for (int x = 0; x < coarse.width; ++x)
      for (int i = 0; i < block; ++i) row[x] += *from++ * scale;
  }
  return coarse;
}

/// The mean square of the Laplacian.
double detail(const Grey& grey) {
  if (grey.width < 3 || grey.height < 3) return 0;
  double sum = 0;
  for (int y = 1; y + 1 < grey.height; ++y) {
    const float *above = grey.row(y - 1), *here = grey.row(y), *below = grey.row(y + 1);
    float of_row = 0;
    for (int x = 1; x + 1 < grey.width; ++x) {
      const float value = 4 * here[x] - here[x - 1] - here[x + 1] - above[x] - below[x];
      of_row += value * value;
    }
    sum += double{of_row};
  }
  return sum / (double(grey.width - 2) * (grey.height - 2));
}

float bright_part(const Grey& grey) {
  std::array<std::size_t, 256> counts{};
  for (const float value : grey.values)
    ++counts[static_cast<std::size_t>(std::clamp(value, 0.0f, 255.0f))];
  const auto wanted =
      static_cast<std::size_t>(std::ceil(kBrightPart * static_cast<double>(grey.values.size())));
  std::size_t level = 0;
  for (std::size_t seen = counts[0]; seen < wanted && level < 255;) seen += counts[++level];
  return static_cast<float>(level);
}

/// Where a pixel belongs to two cells, it is in the first: cells are several pixels wide.
void make_thumbnail(const Grey& grey, std::array<std::uint8_t, 256>& thumbnail) {
  constexpr int kSide = ImageLook::kThumbnail;
  auto* cell = thumbnail.data();
  for (int row = 0; row < kSide; ++row) {
    const int top = row * grey.height / kSide,
              bottom = std::max(top + 1, (row + 1) * grey.height / kSide);
    for (int column = 0; column < kSide; ++column) {
      const int left = column * grey.width / kSide,
                right = std::max(left + 1, (column + 1) * grey.width / kSide);
      float sum = 0;
      for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) sum += grey.row(y)[x];
      const float mean = sum / static_cast<float>((bottom - top) * (right - left));
      *cell++ = static_cast<std::uint8_t>(std::lround(std::clamp(mean, 0.0f, 255.0f)));
    }
  }
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The middle of a collection's images, and how far from it they usually are.
struct Usual {
  double median = 0, deviation = 0;
};

template <class Value>
Usual usual(std::span<const ImageLook> looks, Value value) {
  std::vector<double> values;
  for (const ImageLook& look : looks) values.push_back(value(look));
  const double median = median_of(values);
  for (double& one : values) one = std::abs(one - median);
  return {.median = median, .deviation = kDeviationPerMad * median_of(std::move(values))};
}

double short_side(const ImageLook& look) {
  return std::min(look.size.width, look.size.height);
}

}  // namespace

ImageLook look_at(const Image& resized, ImageSize stored) {
  ImageLook look{.size = stored};
  const int block = std::max(1, std::min(resized.width, resized.height) / kFineSide);
  const Grey grey = reduced_grey(resized, block);
  look.brightness = bright_part(grey);
  make_thumbnail(grey, look.thumbnail);

  const int stored_side = std::max(1, std::min(stored.width, stored.height)),
            enlarged = std::max(1, std::min(grey.width, grey.height) / stored_side),
            pixels = block * enlarged;  // along a side of what is compared
  const Grey sharp = enlarged > 1 ? reduced(grey, enlarged) : grey;
  const double rounding = 2 * kRoundingEnergy / (pixels * pixels);
  const double fine = std::max(0.0, detail(sharp) - rounding),
               coarse = detail(reduced(sharp, kCoarser));
  look.sharpness = static_cast<float>(std::log2((fine + 0.01) / (coarse + 1)));
  return look;
}

std::vector<FaultyImage> faulty_images(std::span<const ImageLook> looks, int crop) {
  std::vector<FaultyImage> faulty;
  if (looks.empty()) return faulty;
  const Usual bright = usual(looks, [](const ImageLook& look) { return look.brightness; });
  const Usual sharp = usual(looks, [](const ImageLook& look) { return look.sharpness; });
  const Usual side = usual(looks, short_side);
  const double dark = std::min(kDarkest, kShareOfMedianBrightness * bright.median);
  const double soft =
      std::min(kSoftest, sharp.median - kDeviations * std::max(sharp.deviation, kLeastDeviation));
  const double tiny = std::min(double(crop) / kEnlarged, kShareOfMedianSide * side.median);
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const ImageLook& look = looks[i];
    if (look.brightness < dark) faulty.push_back({i, ImageFault::kDark, look.brightness});
    if (short_side(look) < tiny) {
      faulty.push_back({i, ImageFault::kTiny, short_side(look)});
    } else if (look.brightness >= dark && look.sharpness < soft) {
      faulty.push_back({i, ImageFault::kBlurred, look.sharpness});
    }
  }
  return faulty;
}

}  // namespace protogcd
