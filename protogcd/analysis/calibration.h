// Whether confidence says how often a prediction is right: by how much it does not, and the
// temperature at which it does.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace protogcd {

/// Expected calibration error (Guo et al., 2017): in 15 bins of equal width, how far the share of
/// right predictions is from the mean confidence, weighted by what falls into a bin. Without
/// weights all N count the same. 0 for none.
double calibration_error(std::span<const float> confidence, const std::vector<bool>& right,
                         std::span<const double> weights = {});

/// The largest of softmax(scores / temperature) in each row of scores [N, K].
std::vector<float> top_posteriors(std::span<const float> scores, std::size_t classes,
                                  double temperature);

/// The temperature between `least` and `most` at which the top posterior of scores [N, K] is the
/// best bet on a prediction being right: least log loss, with Platt's targets, which keep few
/// images that are all right from claiming certainty. N must not be 0.
double fit_temperature(std::span<const float> scores, std::size_t classes,
                       const std::vector<bool>& right, std::span<const double> weights,
                       double least, double most);

}  // namespace protogcd
