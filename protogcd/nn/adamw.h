// Adam with decoupled weight decay (Loshchilov and Hutter, 2019), for networks trained from
// scratch.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "protogcd/nn/flat_parameters.h"

namespace protogcd {

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999;  ///< of the running means of g and g^2
  double epsilon = 1e-8;
  double weight_decay = 0.05;  ///< on matrices; biases and norms are not decayed
  double clip_norm = 1;        ///< gradients are scaled down to this norm, all together; 0: never
};

class AdamW {
 public:
  /// `parameters` must outlive the optimiser.
  AdamW(FlatParameters& parameters, const AdamWOptions& options);

  /// v -= rate decay v;  m = beta1 m + (1 - beta1) g;  s = beta2 s + (1 - beta2) g^2;
  /// v -= rate (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + epsilon), t counting from 1.
  /// The rate is a scalar on the parameters' device; nothing is read back. A tensor without a
  /// gradient has g = 0.
  void step(const at::Tensor& rate);

  /// m and s, [P] in the order of the parameters, and t, [] float32: all that a resumed run needs.
  const at::Tensor& first() const { return first_; }
  const at::Tensor& second() const { return second_; }
  const at::Tensor& count() const { return count_; }

 private:
  /// Tensors that are decayed alike, and their parts of m and s.
  struct Group {
    std::vector<std::string> names;
    std::vector<at::Tensor> values, first, second, counts;
    double weight_decay = 0;
  };
  std::vector<at::Tensor> gradients_of(const Group& group) const;

  FlatParameters& parameters_;
  AdamWOptions options_;
  at::Tensor first_, second_, count_;
  Group matrices_, others_;
};

}  // namespace protogcd
