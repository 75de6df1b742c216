// A model without training: clusters of frozen features, whose centroids stand for prototypes. So
// the paper judges methods that learn features but no classifier (GCD, XCon) on outliers.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "protogcd/model/model.h"

namespace protogcd {

/// `features` [N, D], as the backbone gives them, and `centroids` [K, D] of their directions; the
/// first centroids are those of the old classes. The outlier threshold keeps 95% of the rows.
TrainedModel centroid_model(const Backbone& backbone, const std::vector<std::string>& old_classes,
                            const at::Tensor& features, const at::Tensor& centroids,
                            const ReadingOptions& reading, const Context& context);

}  // namespace protogcd
