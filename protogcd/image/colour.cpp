#include "protogcd/image/colour.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

using ValueTable = std::array<std::uint8_t, 256>;

template <class Function>
ValueTable value_table(const Function& function) {
  ValueTable table;
  for (int value = 0; value < 256; ++value)
    table[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(function(value));
  return table;
}

void look_up(Image& image, const ValueTable& table) {
  for (std::uint8_t& value : image.pixels) value = table[value];
}

void look_up(Image& image, const std::array<ValueTable, 3>& tables) {
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) image.pixels[i + c] = tables[c][image.pixels[i + c]];
  }
}

/// ITU-R 601 luma in 16 bits after the point, as Pillow's conversion to L.
int luma(const std::uint8_t* pixel) {
  return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
}

using Histogram = std::array<std::int64_t, 256>;

std::array<Histogram, 3> histograms_of(const Image& image) {
  std::array<Histogram, 3> counts{};
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    for (std::size_t c = 0; c < 3; ++c) ++counts[c][image.pixels[i + c]];
  }
  return counts;
}

struct Hsv {
  std::uint8_t hue = 0, saturation = 0, value = 0;
};

/// Pillow's, whose hue has 255 steps a turn; float and double where Pillow has them.
Hsv to_hsv(const std::uint8_t* pixel) {
  const int most = std::max({pixel[0], pixel[1], pixel[2]}),
            least = std::min({pixel[0], pixel[1], pixel[2]});
  if (most == least) return {0, 0, static_cast<std::uint8_t>(most)};
  const auto range = static_cast<float>(most - least);
  const auto below = [&](int channel) { return static_cast<float>(most - pixel[channel]) / range; };
  const float red = below(0), green = below(1), blue = below(2);
  float sixths;  // from -1 to 5
  if (pixel[0] == most) {
    sixths = blue - green;
  } else if (pixel[1] == most) {
    sixths = static_cast<float>(2.0 + red - blue);
  } else {
    sixths = static_cast<float>(4.0 + green - red);
  }
  const double turns = sixths / 6.0 + 1.0;  // from 5/6 to 11/6
  const auto hue = static_cast<float>(turns < 1 ? turns : turns - 1);
  const float saturation = range / static_cast<float>(most);
  return {static_cast<std::uint8_t>(hue * 255.0), static_cast<std::uint8_t>(saturation * 255.0),
          static_cast<std::uint8_t>(most)};
}

void from_hsv(const Hsv& colour, std::uint8_t* pixel) {
  if (colour.saturation == 0) {
    std::fill_n(pixel, 3, colour.value);
    return;
  }
  const double sixths = static_cast<float>(colour.hue) * 6.0 / 255.0;
  const int sixth = static_cast<int>(sixths);
  const auto within = static_cast<float>(sixths - static_cast<float>(sixth));
  const auto saturation = static_cast<float>(colour.saturation / 255.0);
  const auto part = [&](double share) {  // to the nearest
    return static_cast<std::uint8_t>(
        std::floor(static_cast<float>(colour.value) * (1.0 - share) + 0.5));
  };
  const std::uint8_t low = part(saturation), falling = part(saturation * within),
                     rising = part(saturation * (1.0 - within)), high = colour.value;
  // Which of them red, green and blue are, in each sixth of the circle.
  const std::array<std::uint8_t, 4> values = {high, rising, falling, low};
  constexpr std::uint8_t kChannels[6][3] = {{0, 1, 3}, {2, 0, 3}, {3, 0, 1},
                                            {3, 2, 0}, {1, 3, 0}, {0, 3, 2}};
  for (int c = 0; c < 3; ++c) pixel[c] = values[kChannels[sixth % 6][c]];
}

/// Pillow's: identity where a channel has too few values to be spread.
ValueTable equalising_table(const Histogram& counts) {
  std::int64_t all = 0, last = 0;
  for (const std::int64_t count : counts) {
    all += count;
    if (count > 0) last = count;
  }
  const std::int64_t step = (all - last) / 255;
  if (step == 0) return value_table([](int value) { return value; });
  std::int64_t sum = step / 2;
  return value_table([&](int value) {
    const std::int64_t at = sum / step;
    sum += counts[static_cast<std::size_t>(value)];
    return std::min<std::int64_t>(at, 255);
  });
}

ValueTable stretching_table(const Histogram& counts) {
  int low = 0, high = 255;
  while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) --high;
  if (high <= low) return value_table([](int value) { return value; });
  const double scale = 255.0 / (high - low), offset = -low * scale;
  return value_table(
      [&](int value) { return std::clamp(static_cast<int>(value * scale + offset), 0, 255); });
}

}  // namespace

std::uint8_t blended(int first, int second, float factor) {
  const float value = static_cast<float>(first) + factor * static_cast<float>(second - first);
  return value <= 0 ? 0 : value >= 255 ? 255 : static_cast<std::uint8_t>(value);
}

void change_brightness(Image& image, double factor) {
  look_up(image, value_table(
                     [f = static_cast<float>(factor)](int value) { return blended(0, value, f); }));
}

void change_contrast(Image& image, double factor) {
  if (image.pixels.empty()) return;
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) sum += luma(&image.pixels[i]);
  const auto mean = static_cast<int>(
      std::floor(static_cast<double>(sum) / static_cast<double>(image.size().pixels()) + 0.5));
  look_up(image, value_table([mean, f = static_cast<float>(factor)](int value) {
            return blended(mean, value, f);
          }));
}

void change_saturation(Image& image, double factor) {
  const auto f = static_cast<float>(factor);
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    std::uint8_t* pixel = &image.pixels[i];
    const int grey = luma(pixel);
    for (int c = 0; c < 3; ++c) pixel[c] = blended(grey, pixel[c], f);
  }
}

void change_hue(Image& image, double turn) {
  if (turn < -0.5 || turn > 0.5) throw InternalError("change_hue: more than half a turn");
  const int steps = static_cast<int>(turn * 255);  // modulo 256, as torchvision adds it
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    Hsv colour = to_hsv(&image.pixels[i]);
    colour.hue = static_cast<std::uint8_t>(colour.hue + steps);
    from_hsv(colour, &image.pixels[i]);
  }
}

void make_grey(Image& image) {
  for (std::size_t i = 0; i < image.pixels.size(); i += 3)
    std::fill_n(&image.pixels[i], 3, static_cast<std::uint8_t>(luma(&image.pixels[i])));
}

void invert(Image& image) {
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(255 - value);
}

void solarise(Image& image, double threshold) {
  look_up(image, value_table([&](int value) { return value < threshold ? value : 255 - value; }));
}

void posterise(Image& image, int bits) {
  if (bits < 0 || bits > 8) throw InternalError("posterise: 0 to 8 bits");
  const int mask = 0xFF << (8 - bits);
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(value & mask);
}

void stretch_contrast(Image& image) {
  const auto counts = histograms_of(image);
  look_up(image, std::array{stretching_table(counts[0]), stretching_table(counts[1]),
                            stretching_table(counts[2])});
}

void equalise(Image& image) {
  const auto counts = histograms_of(image);
  look_up(image, std::array{equalising_table(counts[0]), equalising_table(counts[1]),
                            equalising_table(counts[2])});
}

}  // namespace protogcd
