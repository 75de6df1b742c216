// Confidence that says how often a class is right. A model is sure of the images it was trained on,
// new classes most of all; how often it is right it cannot know. So a short training does not see
// the labels of some classes, and these labels tell (docs/defaults.md).
#pragma once

#include <cstdint>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/confidence.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// Whether the options ask for it; said in words (`reason`) where it cannot be done.
bool calibrates_confidence(const TrainingMaterial& material, const TrainOptions& options,
                           std::string& reason);

/// Training steps that it takes.
std::int64_t confidence_steps(const TrainingMaterial& material, const TrainOptions& options);

/// What it depends on beside images and model.
std::string confidence_settings(const TrainingMaterial& material, const TrainOptions& options,
                                std::int64_t k, std::uint64_t seed);

/// InterruptedError where the context asks to stop; TrainingError where training diverges.
Confidence calibrate_confidence(TrainingMaterial& material, const Backbone& backbone,
                                const TrainOptions& options, std::int64_t k,
                                const Context& context);

}  // namespace protogcd
