// What a model tells classes by, whichever method trained it: one centre a class in feature space.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace protogcd {

struct Prototypes {
  at::Tensor centres;        ///< [K, D]: the old classes, then the new
  double temperature = 0.1;  ///< of the confidence
  /// [K], undefined: an image z (a unit vector) is of the class of the highest cosine. Defined: of
  /// the highest z . c + bias, with the centres at their length. With -|c|^2 / 2 that is the
  /// nearest centre, which the cosines of centres of unequal length are not.
  at::Tensor bias = {};

  /// Of features of any length: [B, D] -> [B, K].
  at::Tensor cosines(const at::Tensor& features) const;
  /// What the class of an image is the highest of: [B, K] -> [B, K].
  at::Tensor scores(const at::Tensor& cosines) const;
};

/// What a method made of the images it was trained on.
struct Outcome {
  Prototypes prototypes;
  /// The class of each unlabelled image, where the method itself decided that (a clustering);
  /// empty: the prototypes decide.
  std::vector<std::int32_t> labels = {};
};

}  // namespace protogcd
