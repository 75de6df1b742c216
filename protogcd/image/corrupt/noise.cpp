// Noise of sensors: Gaussian (low light), shot (photons are counted), impulse (bit errors).
#include <cmath>

#include "protogcd/image/corrupt/float_image.h"
#include "protogcd/image/corrupt/methods.h"

namespace protogcd::corruption {
namespace {

/// By inversion: the probabilities of 0, 1, 2, ... are taken off a uniform number until it is used
/// up. `mean` is at most a few hundred, so that exp(-mean) is not yet 0.
int poisson(double mean, RandomStream& random) {
  // Beyond it no probability is left that a double could tell from 0.
  const int most = static_cast<int>(mean + 12 * std::sqrt(mean) + 30);
  double rest = random.uniform();
  double probability = std::exp(-mean);
  int count = 0;
  while (rest >= probability && count < most) {
    rest -= probability;
    ++count;
    probability *= mean / count;
  }
  return count;
}

}  // namespace

Image gaussian_noise(const Image& image, int severity, RandomStream& random) {
  static constexpr SeverityTable<double> kDeviations = {{.04, .06, .08, .09, .10},
                                                        {.08, .12, .18, .26, .38}};
  const double deviation = kDeviations.at(image.size(), severity);
  FloatImage result = to_float(image);
  for (float& value : result.values) value += static_cast<float>(deviation * random.normal());
  return to_bytes(result);
}

Image shot_noise(const Image& image, int severity, RandomStream& random) {
  static constexpr SeverityTable<double> kPhotonsOfWhite = {{500, 250, 100, 75, 50},
                                                            {60, 25, 12, 5, 3}};
  const double photons = kPhotonsOfWhite.at(image.size(), severity);
  FloatImage result = to_float(image);
  for (float& value : result.values) {
    value = static_cast<float>(poisson(value * photons, random) / photons);
  }
  return to_bytes(result);
}

Image impulse_noise(const Image& image, int severity, RandomStream& random) {
  static constexpr SeverityTable<double> kShares = {{.01, .02, .03, .05, .07},
                                                    {.03, .06, .09, .17, .27}};
  const double share = kShares.at(image.size(), severity);
  Image result = image;
  for (auto& value : result.pixels) {
    if (random.chance(share)) value = random.chance(0.5) ? 255 : 0;
  }
  return result;
}

}  // namespace protogcd::corruption
