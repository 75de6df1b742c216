// How much an image looks like none of a model's classes (paper, section V), from its cosines with
// the K prototypes. Higher is more outlying, for every score.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

enum class OutlierScore {
  kMsp,        ///< -max_k p_k: the posterior at the model's temperature
  kMls,        ///< -max_k cos_k
  kEnergy,     ///< -log sum_k exp(cos_k): temperature 1 on the cosines, as released
  kPrototype,  ///< -p_1 / (p_2 + 1e-6): how far the first is ahead (paper, Eq. 8)
  kMargin,     ///< -(p_1 - p_2)
  kUniform,    ///< mean_k log p_k: minus the cross-entropy to the uniform distribution
  kVonMises,   ///< -max_k log density of a von Mises-Fisher distribution around prototype k
};

/// As --score takes them, in the order of the enumeration: msp, mls, energy, proto, margin, xent,
/// vmf.
std::span<const std::string_view> outlier_score_names();
std::string_view name_of(OutlierScore score);
/// UsageError lists the names there are.
OutlierScore find_outlier_score(std::string_view name);

class OutlierScorer {
 public:
  /// `temperature`: of the posterior. `concentrations` [K], with the features' dimension, are those
  /// of the classes, and needed by the von Mises-Fisher score alone.
  explicit OutlierScorer(double temperature, std::span<const double> concentrations = {},
                         std::int64_t dimension = 0);

  /// cosines [K] of one image.
  double operator()(OutlierScore score, std::span<const float> cosines) const;

 private:
  double temperature_;
  std::vector<double> concentrations_, log_normalisers_;
};

/// A concentration for each class, from the cosine of every image with the prototype of its class:
/// classes [N], cosines [N]. A class of less than two images gets that of all images.
std::vector<double> fit_concentrations(std::span<const std::int32_t> classes,
                                       std::span<const float> cosines, std::int64_t class_count,
                                       std::int64_t dimension);

}  // namespace protogcd
