// Stochastic gradient descent with momentum, as the reference's optimiser does it.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "protogcd/nn/flat_parameters.h"

namespace protogcd {

struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 5e-5;  ///< on matrices; biases and norms are not decayed, unless
  bool decays_all = false;     ///< this says so
};

class Sgd {
 public:
  /// `parameters` must outlive the optimiser.
  Sgd(FlatParameters& parameters, const SgdOptions& options);

  /// m = momentum m + g + decay v;  v = v - rate m. The rate is a scalar on the parameters' device,
  /// so that nothing is read back. A tensor without a gradient has g = 0.
  void step(const at::Tensor& rate);

  /// m, [P] in the order of the parameters.
  const at::Tensor& momentum() const { return momentum_; }

 private:
  FlatParameters& parameters_;
  SgdOptions options_;
  at::Tensor momentum_;
  /// The tensors and their part of m: matrices, and the rest.
  struct Group {
    std::vector<std::string> names;
    std::vector<at::Tensor> values, momenta;
    double weight_decay = 0;
  };
  Group matrices_, others_;
};

}  // namespace protogcd
