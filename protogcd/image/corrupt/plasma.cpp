#include "protogcd/image/corrupt/plasma.h"

#include <algorithm>
#include <bit>

namespace protogcd::corruption {
namespace {

/// A square map that closes upon itself: beyond the right border lies the left one.
class PlasmaMap {
 public:
  /// `side` is a power of two.
  explicit PlasmaMap(unsigned side) : side_(side), values_(std::size_t{side} * side) {}

  float& at(unsigned x, unsigned y) {
    return values_[std::size_t{y & (side_ - 1)} * side_ + (x & (side_ - 1))];
  }

  void fill(double decay, RandomStream& random) {
    double amplitude = 1;
    for (unsigned step = side_; step >= 2; step /= 2) {
      const unsigned half = step / 2;
      const auto wobble = [&] { return static_cast<float>(random.uniform(-amplitude, amplitude)); };
      for (unsigned y = half; y < side_; y += step) {
        for (unsigned x = half; x < side_; x += step)
          at(x, y) = mean_of_corners(x, y, half) + wobble();
      }
      for (unsigned y = 0; y < side_; y += half) {
        const unsigned first = y % step == 0 ? half : 0;
        for (unsigned x = first; x < side_; x += step)
          at(x, y) = mean_of_sides(x, y, half) + wobble();
      }
      amplitude /= decay * decay;
    }
  }

 private:
  // Unsigned coordinates wrap around, which the map's own period divides.
  float mean_of_corners(unsigned x, unsigned y, unsigned half) {
    return (at(x - half, y - half) + at(x + half, y - half) + at(x - half, y + half) +
            at(x + half, y + half)) /
           4;
  }
  float mean_of_sides(unsigned x, unsigned y, unsigned half) {
    return (at(x - half, y) + at(x + half, y) + at(x, y - half) + at(x, y + half)) / 4;
  }

  unsigned side_;
  std::vector<float> values_;
};

void stretch_to_unit_range(std::vector<float>& values) {
  const auto [lowest, highest] = std::ranges::minmax(values);
  const float range = highest - lowest;
  for (float& value : values) value = range > 0 ? (value - lowest) / range : 1.0f;
}

}  // namespace

FloatImage plasma(ImageSize size, double decay, RandomStream& random) {
  // Larger images repeat the map: a long strip must not cost the memory of a square.
  constexpr unsigned kLargestSide = 4096;
  const auto longest = static_cast<unsigned>(std::max({size.width, size.height, 2}));
  PlasmaMap map(std::bit_ceil(std::min(longest, kLargestSide)));
  map.fill(decay, random);
  FloatImage result(size, 1);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      *result.at(x, y) = map.at(static_cast<unsigned>(x), static_cast<unsigned>(y));
    }
  }
  stretch_to_unit_range(result.values);
  return result;
}

}  // namespace protogcd::corruption
