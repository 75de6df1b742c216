// Digital: low contrast, elastic deformation, large pixels, compression.
#include <algorithm>
#include <array>
#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/methods.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/encode.h"

namespace protogcd::corruption {
namespace {

struct Point {
  double x = 0, y = 0;
};

Point operator+(Point a, Point b) {
  return {a.x + b.x, a.y + b.y};
}
Point operator-(Point a, Point b) {
  return {a.x - b.x, a.y - b.y};
}
Point operator*(double factor, Point point) {
  return {factor * point.x, factor * point.y};
}

/// The affine displacement field that moves three corners of a square in the middle of the image,
/// two thirds of the short side wide, by given amounts.
class AffineShift {
 public:
  AffineShift(ImageSize size, double most, RandomStream& random)
      : middle_{size.width / 2.0, size.height / 2.0},
        half_(std::max(1.0, std::floor(std::min(size.width, size.height) / 3.0))) {
    for (Point* shift : {&lower_right_, &upper_right_, &upper_left_}) {
      shift->x = random.uniform(-most, most);
      shift->y = random.uniform(-most, most);
    }
  }

  Point at(Point point) const {
    const Point place = point - middle_;
    return upper_right_ + (place.y + half_) / (2 * half_) * (lower_right_ - upper_right_) +
           (place.x - half_) / (2 * half_) * (upper_right_ - upper_left_);
  }

 private:
  Point middle_;
  double half_;
  Point lower_right_, upper_right_, upper_left_;
};

/// One coordinate of the elastic part: noise, smoothed and scaled.
FloatImage elastic_field(ImageSize size, double scale, double deviation, RandomStream& random) {
  FloatImage field(size, 1);
  for (float& value : field.values) value = static_cast<float>(scale * random.uniform(-1, 1));
  return gaussian_blur(field, deviation);
}

/// The pixels [first, end) that one large pixel covers.
struct Cells {
  int count;
  double width;

  Cells(int side, double share)
      : count(std::max(1, static_cast<int>(side * share))), width(double(side) / count) {}
  int first(int cell) const { return static_cast<int>(std::lround(cell * width)); }
  int end(int cell) const { return first(cell + 1); }
  int holding(int pixel) const {
    return std::min(count - 1, static_cast<int>((pixel + 0.5) / width));
  }
};

std::array<std::uint8_t, 3> mean_colour(const Image& image, const ImageBox& box) {
  std::array<std::int64_t, 3> sums{};
  for (int y = box.top; y < box.bottom(); ++y) {
    for (int x = box.left; x < box.right(); ++x) {
      for (std::size_t c = 0; c < 3; ++c) sums[c] += image.at(x, y)[c];
    }
  }
  const std::int64_t pixels = std::int64_t{box.width} * box.height;
  std::array<std::uint8_t, 3> mean{};
  for (std::size_t c = 0; c < 3; ++c) {
    mean[c] = static_cast<std::uint8_t>((sums[c] + pixels / 2) / pixels);
  }
  return mean;
}

}  // namespace

Image contrast(const Image& image, int severity, RandomStream& /*random*/) {
  static constexpr SeverityTable<double> kShares = {{.75, .5, .4, .3, .15}, {.4, .3, .2, .1, .05}};
  const double share = kShares.at(image.size(), severity);
  FloatImage result = to_float(image);
  std::array<double, 3> means{};
  for (std::size_t i = 0; i < result.values.size(); ++i) means[i % 3] += result.values[i];
  for (double& mean : means) mean /= static_cast<double>(image.size().pixels());
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = static_cast<float>(std::lerp(means[i % 3], result.values[i], share));
  }
  return to_bytes(result);
}

Image elastic_transform(const Image& image, int severity, RandomStream& random) {
  struct Elastic {
    double scale, deviation, affine;  // pixels
  };
  static constexpr double kCifarSide = 32, kImageNetSide = 244;
  static constexpr SeverityTable<Elastic> kElastics = {
      {{{0, 0, kCifarSide * .08},
        {kCifarSide * .05, kCifarSide * .2, kCifarSide * .07},
        {kCifarSide * .08, kCifarSide * .06, kCifarSide * .06},
        {kCifarSide * .1, kCifarSide * .04, kCifarSide * .05},
        {kCifarSide * .1, kCifarSide * .03, kCifarSide * .03}}},
      {{{kImageNetSide * 2, kImageNetSide * .7, kImageNetSide * .1},
        {kImageNetSide * 2, kImageNetSide * .08, kImageNetSide * .2},
        {kImageNetSide * .05, kImageNetSide * .01, kImageNetSide * .02},
        {kImageNetSide * .07, kImageNetSide * .01, kImageNetSide * .02},
        {kImageNetSide * .12, kImageNetSide * .01, kImageNetSide * .02}}}};
  const auto [scale, deviation, affine] = kElastics.at(image.size(), severity);
  const AffineShift shift(image.size(), affine, random);
  const FloatImage field_x = elastic_field(image.size(), scale, deviation, random);
  const FloatImage field_y = elastic_field(image.size(), scale, deviation, random);
  const FloatImage source = to_float(image);
  FloatImage result(image.size(), 3);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const Point bent = Point{double(x), double(y)} + Point{*field_x.at(x, y), *field_y.at(x, y)};
      const Point place = bent + shift.at(bent);
      sample(source, place.x, place.y, result.at(x, y));
    }
  }
  return to_bytes(result);
}

Image pixelate(const Image& image, int severity, RandomStream& /*random*/) {
  static constexpr SeverityTable<double> kShares = {{.95, .9, .85, .75, .65},
                                                    {.6, .5, .4, .3, .25}};
  const double share = kShares.at(image.size(), severity);
  const Cells columns(image.width, share), rows(image.height, share);
  Image small(columns.count, rows.count);
  for (int y = 0; y < rows.count; ++y) {
    for (int x = 0; x < columns.count; ++x) {
      const ImageBox cell{columns.first(x), rows.first(y), columns.end(x) - columns.first(x),
                          rows.end(y) - rows.first(y)};
      std::ranges::copy(mean_colour(image, cell), small.at(x, y));
    }
  }
  Image result(image.width, image.height);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      std::copy_n(small.at(columns.holding(x), rows.holding(y)), 3, result.at(x, y));
    }
  }
  return result;
}

Image jpeg_compression(const Image& image, int severity, RandomStream& /*random*/) {
  static constexpr SeverityTable<int> kQualities = {{80, 65, 58, 50, 40}, {25, 18, 15, 10, 7}};
  const std::string bytes = encode_jpeg(image, {.quality = kQualities.at(image.size(), severity)});
  auto result = decode_image(std::as_bytes(std::span(bytes)));
  if (const auto* bad = std::get_if<BadImage>(&result)) {
    throw InternalError("a JPEG of our own cannot be read: " + bad->reason);
  }
  return std::get<Image>(std::move(result));
}

}  // namespace protogcd::corruption
