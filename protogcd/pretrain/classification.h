// Pre-training by telling classes apart: a cosine classifier on the CLS token, with smoothed
// labels.
#pragma once

#include "protogcd/pretrain/method.h"

namespace protogcd {

struct ClassificationOptions {
  double scale = 16;  ///< of the cosines before the softmax
  double label_smoothing = 0.05;
};

class Classification : public PretrainMethod {
 public:
  Classification(std::int64_t width, std::int64_t classes, const ClassificationOptions& options,
                 const Placement& placement, std::uint64_t seed);

  std::string name() const override { return "classification"; }
  std::string settings() const override;
  std::int64_t views() const override { return 1; }
  std::map<std::string, at::Tensor> named_parameters() const override;
  PretrainLoss loss(const PretrainNetwork& network, const PretrainBatch& batch) const override;

  /// scale * cosine of features [B, D] and each class's direction: [B, C].
  at::Tensor logits(const at::Tensor& features) const;
  /// Cross entropy to (1 - smoothing) on the label and smoothing / C on every class, mean of [B].
  at::Tensor loss_of(const at::Tensor& logits, const at::Tensor& labels) const;

 private:
  ClassificationOptions options_;
  at::Tensor directions_;  ///< [C, D], of any length
};

}  // namespace protogcd
