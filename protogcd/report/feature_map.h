// The features of a run in two dimensions, for its page and its exports.
#pragma once

#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/report/run_contents.h"

namespace protogcd {

/// x, y pairs, of the embeddings' rows and of the prototypes; empty where there are no embeddings.
struct FeatureMap {
  std::vector<float> before, after;  ///< [n, 2]
  std::vector<float> prototypes;     ///< [K, 2], among those of `after`
};

FeatureMap feature_map(const RunContents& run, const Context& context);

}  // namespace protogcd
