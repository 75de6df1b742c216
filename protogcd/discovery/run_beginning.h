// The first files of a run's folder, and what must be the same for the run to go on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/methods/method.h"
#include "protogcd/model/model.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/run/taken_from.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// The model of K classes that a run will train.
ModelInfo model_info(const Backbone& backbone, const Dataset& dataset, std::int64_t k,
                     const TrainOptions& options);

/// Everything a run's numbers depend on, by name: the options, and what they come to here.
std::map<std::string, std::string> identity_of(const TrainOptions& options, const ModelInfo& info,
                                               const TrainingMaterial& material,
                                               std::uint64_t seed);

OpenRun how_to_open(const TrainOptions& options);

/// Only now is it sure that the new run begins. UsageError where a run that is resumed had other
/// images or settings.
void begin_folder(RunFolder& folder, const TrainingMaterial& material, const LabelHistory& history,
                  const TrainOptions& options, const std::string& config, const Context& context);

/// Whether the run at `out` was begun by the processes of this job (ProcessPlace::job).
bool was_begun_by(const std::filesystem::path& out, const std::string& job);

/// What was taken from an earlier run.
void note_from(const RunFolder& folder, const TakenFrom& taken);

/// Which method, and what its numbers in metrics.jsonl are: the report has no other way to know.
void note_method(const RunFolder& folder, const std::string& name, const Method& method);

}  // namespace protogcd
