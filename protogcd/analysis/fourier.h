// Discrete Fourier transforms of 16 sequences at a time. The sequences lie side by side, [size,
// 16], so that every step is the same arithmetic on whole registers.
#pragma once

#include <cstddef>
#include <vector>

#include "protogcd/analysis/vector_dispatch.h"

namespace protogcd {

/// Real and imaginary parts of 16 sequences, each [size, 16].
struct ComplexLanes {
  float* real = nullptr;
  float* imaginary = nullptr;
};

class FourierPlan {
 public:
  static constexpr std::size_t kLanes = 16;

  /// `size` must be a product of twos and threes.
  explicit FourierPlan(std::size_t size, VectorWidth width = widest_vectors());

  std::size_t size() const { return size_; }
  /// X_k = sum_n x_n exp(-2 pi i n k / size). Works in both buffers; says which has the result.
  /// The inverse, without the factor 1 / size, is the same with real and imaginary parts exchanged.
  ComplexLanes transform(ComplexLanes values, ComplexLanes spare) const;

  struct Stage {
    std::size_t radix, groups, stride;  ///< sequences of radix * groups, `stride` of them
    std::vector<float> twiddles;        ///< [groups, radix - 1, (real, imaginary)]
  };

 private:
  std::size_t size_;
  VectorWidth width_;
  std::vector<Stage> stages_;
};

/// The least product of twos and threes that is not below `size` and is even.
std::size_t fourier_size(std::size_t size);

}  // namespace protogcd
