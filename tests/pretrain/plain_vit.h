// A Vision Transformer with a cosine classifier in plain float64 loops, and its gradient by
// differences: nothing of it is shared with what it is compared with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "protogcd/nn/vit_config.h"

namespace protogcd::testing {

using Numbers = std::vector<double>;

struct PlainClassifier {
  VitConfig config;
  double scale = 16, smoothing = 0.05;
  std::map<std::string, Numbers> values;  ///< rows of each tensor after one another

  /// CLS after the final norm of one image [3, S, S]. `factors` [2 * depth] multiply what each
  /// block's attention and MLP add.
  Numbers features(const Numbers& image, const Numbers& factors) const;
  /// Mean over the images.
  double loss(const std::vector<Numbers>& images, const std::vector<std::int64_t>& labels,
              const std::vector<Numbers>& factors) const;
  /// d loss / d value for every value, by central differences.
  std::map<std::string, Numbers> gradient(const std::vector<Numbers>& images,
                                          const std::vector<std::int64_t>& labels,
                                          const std::vector<Numbers>& factors);
};

}  // namespace protogcd::testing
