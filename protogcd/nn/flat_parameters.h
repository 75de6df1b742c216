// Trained tensors laid out in one buffer, at addresses that never change. Gradients are left where
// the backward pass made them, and laid out alike only where several processes sum them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace protogcd {

class FlatParameters {
 public:
  /// Moves the tensors (one dtype, one device) into the buffer. They stay the tensors they are,
  /// with their values, and now need gradients; whoever holds one sees every update.
  explicit FlatParameters(const std::map<std::string, at::Tensor>& parameters);

  /// [P]: tensors of two or more dimensions, then the rest.
  const at::Tensor& values() const { return values_; }
  const std::map<std::string, at::Tensor>& named() const { return named_; }
  /// A buffer of the same layout, tensor by tensor: for the optimiser's state.
  std::map<std::string, at::Tensor> views_of(const at::Tensor& buffer) const;

  /// Before a backward pass: it then hands over its gradients instead of adding to some.
  void forget_gradients();
  /// All gradients as one buffer [P] in the order of the values, which the tensors' own then are
  /// views of: what is done to it is done to them.
  at::Tensor flat_gradient();

 private:
  struct Place {
    std::int64_t offset;
    std::int64_t count;
  };

  std::map<std::string, at::Tensor> named_;
  std::map<std::string, Place> places_;
  at::Tensor values_, gradient_;  ///< the latter once it is needed
};

}  // namespace protogcd
