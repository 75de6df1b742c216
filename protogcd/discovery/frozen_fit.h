// How well a backbone's own features, before any training, fit the labelled classes.
#pragma once

#include <ATen/core/Tensor.h>

namespace protogcd {

/// The share of the labelled images whose five nearest other labelled images (by cosine, nearer
/// ones first where votes tie) are mostly of their class. `features` [N, D] of unit length,
/// `labels` [N]. Of many images, every so-manieth is asked. NaN where a class has too few images to
/// be recognised, or there is but one class.
double frozen_accuracy(const at::Tensor& features, const at::Tensor& labels);

}  // namespace protogcd
