// Which unlabelled images a person should label next: those that together stand for most of what a
// run does not know. The rule, and what it is worth: docs/rounds.md.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <vector>

#include "protogcd/model/prediction.h"

namespace protogcd {

constexpr std::size_t kQueueLength = 20;

struct QueuedImage {
  std::size_t image;  ///< of the predictions
  std::string why;    ///< a few words
};

/// At most `most` images, the most useful first. `features` are unit rows [N, D] on the CPU,
/// `predictions` keep their posterior, and `labelled` counts the labelled images of each class,
/// [K]. Always the same of the same input; of two that are equally useful the earlier one. Neither
/// outliers nor copies of chosen images are asked for, so there may be fewer than `most`.
std::vector<QueuedImage> label_queue(const at::Tensor& features, const Predictions& predictions,
                                     const ModelInfo& info,
                                     const std::vector<std::size_t>& labelled,
                                     std::size_t most = kQueueLength);

}  // namespace protogcd
