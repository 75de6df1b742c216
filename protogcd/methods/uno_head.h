// UNO's loss, and its head of a normalised inner layer and prototypes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "protogcd/methods/method.h"
#include "protogcd/methods/sinkhorn.h"

namespace protogcd {

/// Targets of a view's rows: the label, or Sinkhorn's assignment of the unlabelled rows of this
/// view over all columns. Mean over rows and views of the cross-entropy with the other view's
/// prediction at this temperature. cosines [2B, K]
at::Tensor uno_loss(const at::Tensor& cosines, const StepBatch& batch, double temperature,
                    const SinkhornOptions& options, Communicator& communicator);

struct UnoHeadShape {
  std::int64_t hidden = 2048, projection = 256;
};

/// Linear, BatchNorm by the statistics of one view's rows over all processes, ReLU, Linear, then
/// cosines with prototypes. It only helps to train: nobody predicts by it.
class UnoHead {
 public:
  UnoHead(std::int64_t width, std::int64_t prototypes, const UnoHeadShape& shape,
          std::uint64_t seed, std::uint64_t first_number, at::ScalarType type, at::Device device);

  /// features [2B, D] of both views -> cosines [2B, C].
  at::Tensor forward(const at::Tensor& features, Communicator& communicator) const;
  /// Of one view: [B, D] -> [B, C].
  at::Tensor forward_view(const at::Tensor& features, Communicator& communicator) const;
  void normalise();  ///< prototypes, in place

  /// Under the release's names: "mlp.0.weight", "mlp.1.bias", ..., "prototypes.weight".
  const std::map<std::string, at::Tensor>& named_parameters() const { return parameters_; }

 private:
  const at::Tensor& at(const char* name) const { return parameters_.at(name); }

  std::map<std::string, at::Tensor> parameters_;
};

}  // namespace protogcd
