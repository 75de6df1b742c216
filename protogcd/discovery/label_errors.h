// Labels that are probably wrong, by what a backbone without any training sees in the other images.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace protogcd {

struct LabelError {
  std::int64_t image = 0;
  std::int64_t looks_like = 0;  ///< the class
  double margin = 0;            ///< of its score over that of the given class
};

struct LabelCheck {
  std::vector<LabelError> errors;  ///< the clearest first
  /// The share of images that are recognised without their own label; NaN where there is but one
  /// class or one group.
  double accuracy = 0;
};

/// Every image is judged by a linear classifier of the features that never saw it, nor any image of
/// its group (pictures that are there several times): a least-squares fit of all, from which each
/// group is taken out exactly. `features` [N, D] float32 on the CPU, `labels` and `groups` [N]. An
/// image is an error where another class scores clearly higher, and its own has enough images to
/// know. Whether to believe it is the caller's to say, by the accuracy.
LabelCheck check_labels(const at::Tensor& features, const std::vector<std::int64_t>& labels,
                        const std::vector<std::int64_t>& groups);

}  // namespace protogcd
