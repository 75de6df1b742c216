// Unlabelled images that are unlike all that is labelled, found before training by the backbone's
// own features. Most new classes are about as far from the labelled ones as these are from each
// other; what is farther than nearly every labelled image is from the other labelled classes is
// foreign: a stray of no class, or of a new class that is very different. Features do not tell
// which (docs/defaults.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace protogcd {

struct ForeignImages {
  std::vector<std::uint32_t> places = {};  ///< among the unlabelled images, ascending
  std::vector<double> similarity = {};  ///< of each: mean cosine with the nearest labelled images
  /// Where too many were found to be strays, which are none then: that, in words.
  std::string why_kept = {};

  nlohmann::json to_json() const;
  /// nlohmann's exceptions where it is something else.
  static ForeignImages from_json(const nlohmann::json& json);
  /// Itself; DataError, naming `origin`, where it cannot be of so many images.
  ForeignImages checked(std::size_t unlabelled, const std::string& origin) const;
};

/// Features are unit rows [N_l, D] and [N_u, D], `labels` [N_l] int64. None where fewer than four
/// classes are labelled.
ForeignImages find_foreign(const at::Tensor& labelled, const at::Tensor& labels,
                           const at::Tensor& unlabelled);

}  // namespace protogcd
