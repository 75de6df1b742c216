// Trained tensors laid out in one buffer, their gradients in another: one optimiser step and one
// all-reduce for all of them, at addresses that never change.
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

  const at::Tensor& values() const { return values_; }      ///< [P]: matrices, then the rest
  const at::Tensor& gradient() const { return gradient_; }  ///< [P], in the same order
  /// Values of tensors with two or more dimensions: those come first, and are decayed.
  std::int64_t matrix_count() const { return matrix_count_; }
  const std::map<std::string, at::Tensor>& named() const { return named_; }
  /// A buffer of the same layout, tensor by tensor: for the optimiser's state.
  std::map<std::string, at::Tensor> views_of(const at::Tensor& buffer) const;

  void zero_gradient() { gradient_.zero_(); }

 private:
  struct Place {
    std::int64_t offset;
    std::int64_t count;
  };

  std::map<std::string, at::Tensor> named_;
  std::map<std::string, Place> places_;
  at::Tensor values_, gradient_;
  std::int64_t matrix_count_ = 0;
};

}  // namespace protogcd
