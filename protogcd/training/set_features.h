// Features of whole sets, as trained blocks give them at this moment.
#pragma once

#include "protogcd/core/context.h"
#include "protogcd/engine/trained_blocks.h"
#include "protogcd/methods/method.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

class MaterialFeatures : public SetFeatures {
 public:
  /// All references must outlive it.
  MaterialFeatures(TrainingMaterial& material, const TrainedBlocks& blocks, const Context& context,
                   TrainingPlan plan = {})
      : material_(material), blocks_(blocks), context_(context), plan_(std::move(plan)) {}

  std::int64_t count(SampleSet set) const override;
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override;
  at::Tensor labels() const override;
  /// Several processes stop together, between two steps.
  StopToken stop() const override { return material_.team() ? StopToken() : context_.stop; }

 private:
  void for_each_of(SampleSet set, const std::function<void(const at::Tensor&)>& use);
  /// Those of the labelled images that stand at these places, ascending.
  void for_each_at(const std::vector<std::uint32_t>& places,
                   const std::function<void(const at::Tensor&)>& use);

  TrainingMaterial& material_;
  const TrainedBlocks& blocks_;
  const Context& context_;
  const TrainingPlan plan_;
};

}  // namespace protogcd
