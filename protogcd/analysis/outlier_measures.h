// How well scores tell outliers from images of known classes, as the released code measures it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace protogcd {

/// Fractions. "in": images of known classes are the positives; "out": outliers are.
struct OutlierMeasures {
  double auroc = 0;      ///< chance that an outlier scores higher; ties count half
  double fpr95_in = 0;   ///< the paper's FPR95: outliers kept where 95% of the others are
  double aupr_in = 0;    ///< average precision, not interpolated
  double fpr95_out = 0;  ///< others rejected where 95% of the outliers are
  double aupr_out = 0;
};

/// Scores of both kinds, higher is more outlying. DataError where there are none of a kind, or one
/// is not a number.
OutlierMeasures measure_outliers(std::span<const double> inside, std::span<const double> outside);

enum class OutlierSampling {
  kAll,        ///< every image, once
  kReference,  ///< as released: a fifth as many outliers as inliers, in whole batches of 128
  kBalanced,   ///< as the paper's text: as many outliers as inliers
};

struct SampledMeasures {
  OutlierMeasures mean = {},
                  deviation = {};       ///< over the repeats; the deviation divides by their number
  std::size_t inside = 0, outside = 0;  ///< scores of each kind in a repeat
  std::int64_t repeats = 0;
};

/// Measures several random parts of the scores, drawn without replacement; the same parts for the
/// same seed. kAll has nothing to draw and measures once.
SampledMeasures measure_sampled(std::span<const double> inside, std::span<const double> outside,
                                OutlierSampling sampling, std::int64_t repeats, std::uint64_t seed);

/// The lowest threshold that keeps at least this share of the scores at or below it. DataError
/// where there are none.
double threshold_keeping(std::vector<double> scores, double share);

}  // namespace protogcd
