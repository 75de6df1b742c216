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
  MaterialFeatures(TrainingMaterial& material, const TrainedBlocks& blocks, const Context& context)
      : material_(material), blocks_(blocks), context_(context) {}

  std::int64_t count(SampleSet set) const override {
    return static_cast<std::int64_t>(material_.set().count(set));
  }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override;
  at::Tensor labels() const override { return labelled_classes(material_.set()); }

 private:
  TrainingMaterial& material_;
  const TrainedBlocks& blocks_;
  const Context& context_;
};

}  // namespace protogcd
