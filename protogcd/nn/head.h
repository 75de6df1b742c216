// What stands on the backbone's CLS feature: a projection for the contrastive terms, and the joint
// prototypes of old and new classes on the unit sphere (paper, section III-A).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace protogcd {

struct HeadShape {
  std::int64_t width = 768;          ///< D, of the features
  std::int64_t classes = 1;          ///< K, old and new
  std::int64_t hidden = 2048;        ///< of the projection's two inner layers
  std::int64_t projection = 256;     ///< its output
  std::int64_t wide_projection = 0;  ///< the paper's last layer (65,536), weight-normed; 0: none

  bool operator==(const HeadShape&) const = default;
};

struct HeadOutput {
  at::Tensor projections;  ///< h before normalisation, [B, P]
  at::Tensor cosines;      ///< mu_c . z, [B, K]
  at::Tensor prototypes;   ///< mu, unit rows, [K, D]
};

/// x / max(|x|, 1e-12) of each row.
at::Tensor unit_rows(const at::Tensor& x);

class Head {
 public:
  /// Fresh weights as the reference draws them: projection N(0, 0.02^2) with zero biases,
  /// prototypes uniform in +-1/sqrt(D). They depend on the seed alone.
  Head(const HeadShape& shape, std::uint64_t seed, at::ScalarType type, at::Device device);

  const HeadShape& shape() const { return shape_; }
  /// features: CLS after the final norm, not normalised, [B, D].
  HeadOutput forward(const at::Tensor& features) const;
  /// The cosines alone: all that prediction needs. [B, D] -> [B, K]
  at::Tensor cosines(const at::Tensor& features) const;

  /// The trained tensors themselves, under the reference's names: "mlp.0.weight", ...,
  /// "prototype_layer.weight_v".
  const std::map<std::string, at::Tensor>& named_parameters() const { return parameters_; }

 private:
  const at::Tensor& at(const char* name) const { return parameters_.at(name); }
  at::Tensor project(const at::Tensor& features) const;

  HeadShape shape_;
  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace protogcd
