#include "protogcd/cli/bench_photos.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/random.h"
#include "protogcd/image/encode.h"

namespace protogcd::cli {
namespace {

/// Something like a photograph: a sky of gradients, round things with edges, and grain.
Image draw_photo(ImageSize size, std::uint64_t seed, std::uint64_t number) {
  constexpr double kDrawnFor = 500;  // the width that the numbers below are made for
  const double unit = size.width / kDrawnFor;
  RandomStream stream({.seed = seed, .purpose = RandomPurpose::kDraw, .position = number});
  struct Disc {
    double x, y, radius, colour[3];
  };
  std::vector<Disc> discs(14);
  for (auto& disc : discs) {
    disc = {.x = stream.uniform(0, size.width),
            .y = stream.uniform(0, size.height),
            .radius = stream.uniform(10, 120) * unit,
            .colour = {}};
    for (double& value : disc.colour) value = stream.uniform(-90, 90);
  }
  const double tilt = stream.uniform(0.1, 0.35), wave = stream.uniform(0.02, 0.2);
  Image image(size.width, size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const double u = x / unit, v = y / unit;
      double colour[3] = {60 + tilt * u, 70 + 0.3 * v, 180 - 0.25 * v};
      const double texture = 12 * std::sin(wave * u) * std::cos(wave * 0.7 * v);
      for (const auto& disc : discs) {
        const double dx = (x - disc.x) / disc.radius, dy = (y - disc.y) / disc.radius;
        if (dx * dx + dy * dy < 1) {
          const double distance = std::sqrt(dx * dx + dy * dy);
          for (int c = 0; c < 3; ++c) colour[c] += disc.colour[c] * (1 - 0.5 * distance);
        }
      }
      const double grain = stream.uniform(-9, 9);
      for (int c = 0; c < 3; ++c) {
        image.at(x, y)[c] =
            static_cast<std::uint8_t>(std::clamp(colour[c] + texture + grain, 0.0, 255.0));
      }
    }
  }
  return image;
}

}  // namespace

BenchPhotos::BenchPhotos(ImageSize size, int count, std::uint64_t seed) : size_(size) {
  for (int i = 0; i < count; ++i) {
    files_.push_back(folder_ / fmt::format("{:02}.jpg", i));
    const std::string jpeg = encode_jpeg(draw_photo(size, seed, i), {.quality = 90});
    bytes_ += jpeg.size();
    write_file_atomically(files_.back(), jpeg);
  }
}

}  // namespace protogcd::cli
