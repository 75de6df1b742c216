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
  std::int64_t projection = 256;     ///< its output; 0: prototypes alone
  std::int64_t wide_projection = 0;  ///< the paper's last layer (65,536), weight-normed; 0: none
  std::int64_t stacked = 0;          ///< so many projections side by side; 0: one, of plain shapes

  bool operator==(const HeadShape&) const = default;
};

struct HeadOutput {
  at::Tensor projections;  ///< h before normalisation, [B, P]; undefined where there is none
  at::Tensor cosines;      ///< mu_c . z, [B, K]
  at::Tensor prototypes;   ///< mu, unit rows, [K, D]
};

/// x / max(|x|, 1e-12) of each row.
at::Tensor unit_rows(const at::Tensor& x);

/// Fresh rows [out, in] in float64, uniform in +-1/sqrt(in): a linear layer's weights as PyTorch
/// begins them. `number` tells the tensors of a seed apart; those below 16 are this file's own.
at::Tensor fresh_rows(std::int64_t out, std::int64_t in, std::uint64_t seed, std::uint64_t number);

/// The layers of the projection alone, for methods without prototypes. Of several side by side each
/// tensor has one dimension more in front: features [E, B, D], and so on.
class Projection {
 public:
  /// Fresh weights as the reference draws them: N(0, 0.02^2) with zero biases, the wide layer
  /// uniform in +-1/sqrt(P). They depend on the seed and the place in a stack alone.
  Projection(const HeadShape& shape, std::uint64_t seed, at::ScalarType type, at::Device device);

  /// features: CLS after the final norm, not normalised, [B, D] -> [B, P], or as wide as the wide
  /// layer is, of unit rows.
  at::Tensor forward(const at::Tensor& features) const;
  /// The same before the wide layer: [B, P].
  at::Tensor narrow(const at::Tensor& features) const;
  /// W^T W [P, P] of the wide layer's unit rows W: what cosines behind it need of it.
  at::Tensor gram() const;

  /// The trained tensors themselves, under the reference's names: "mlp.0.weight", ...
  const std::map<std::string, at::Tensor>& named_parameters() const { return parameters_; }

 private:
  const at::Tensor& at(const char* name) const { return parameters_.at(name); }

  HeadShape shape_;
  std::map<std::string, at::Tensor> parameters_;
};

class Head {
 public:
  /// Fresh weights as the reference draws them: prototypes uniform in +-1/sqrt(D).
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
  HeadShape shape_;
  Projection projection_;
  at::Tensor prototypes_;                         ///< [K, D], not of unit length
  std::map<std::string, at::Tensor> parameters_;  ///< all of them
};

}  // namespace protogcd
