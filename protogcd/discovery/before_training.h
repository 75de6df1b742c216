// What a run finds out before it trains, each kept in its folder: a run that is resumed takes it
// from there, if it was found with the same settings (UsageError where not, DataError where the
// file cannot be read). InterruptedError says how to begin again.
#pragma once

#include <cstdint>

#include "protogcd/core/context.h"
#include "protogcd/discovery/foreign.h"
#include "protogcd/discovery/starts.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/class_number.h"
#include "protogcd/run/confidence.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/run/tuning.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

ClassNumber class_number_of(const RunFolder& folder, TrainingMaterial& material,
                            const Backbone& backbone, const TrainOptions& options,
                            const Context& context);
/// Settings that suit the collection (discovery/tune.h).
Tuning tuning_of(const RunFolder& folder, TrainingMaterial& material, const Backbone& backbone,
                 const TrainOptions& options, std::int64_t k, const Context& context);
/// Where the run begins (discovery/starts.h); none where one beginning is enough.
Starts starts_of(const RunFolder& folder, TrainingMaterial& material, const Backbone& backbone,
                 const TrainOptions& options, std::int64_t k, const Context& context);

/// Unlabelled images unlike all that is labelled (discovery/foreign.h); `labelled` are the
/// untrained features of the labelled ones. Kept in the folder where they are to be set aside.
ForeignImages foreign_of(const RunFolder& folder, TrainingMaterial& material,
                         const Backbone& backbone, const at::Tensor& labelled,
                         const TrainOptions& options, const Context& context);

/// How far its confidence is to be trusted (discovery/confidence.h).
Confidence confidence_of(const RunFolder& folder, TrainingMaterial& material,
                         const Backbone& backbone, const TrainOptions& options, std::int64_t k,
                         const Context& context);

}  // namespace protogcd
