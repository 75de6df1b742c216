// Training from images to a run folder, whatever the method.
#pragma once

#include <functional>
#include <string>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/data/sample.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/run_result.h"

namespace protogcd {

/// How such a run estimates its number of classes.
ClassNumberOptions estimate_of(const TrainOptions& options);

/// The configuration of a run with these options, as TOML.
using ConfigurationOf = std::function<std::string(const TrainOptions&)>;

/// Trains, evaluates, predicts the unlabelled images and writes the run folder, its configuration
/// among it. A method that begins with another one's training has that first, as a run of its own
/// in RUN/first-stage, unless it goes on from another run.
/// What cannot be read is left out first, so that no later step fails on it. The options must be
/// resolved. `history` was applied to the dataset; the folder keeps it.
///
/// Stopped at any point and resumed, it gives the same model, predictions and metrics (times aside)
/// as if it had not been stopped: on a CPU with the same threads, on CUDA with `deterministic`.
/// A K that was estimated is kept in estimate.json; an estimate that was stopped begins again.
/// Asked to stop, it writes a checkpoint and throws InterruptedError, whose hint says how to go on.
RunResult train(Dataset dataset, const LabelHistory& history, const Backbone& backbone,
                const TrainOptions& options, const ConfigurationOf& config,
                const BadImagePolicy& policy, const Context& context);

}  // namespace protogcd
