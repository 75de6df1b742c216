// Training from images to a run folder, whatever the method.
#pragma once

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

/// Trains, evaluates, predicts the unlabelled images and writes the run folder, `config` among it.
/// What cannot be read is left out first, so that no later step fails on it. The options must be
/// resolved. `history` was applied to the dataset; the folder keeps it.
///
/// Stopped at any point and resumed, it gives the same model, predictions and metrics (times aside)
/// as if it had not been stopped: on a CPU with the same threads, on CUDA with `deterministic`.
/// A K that was estimated is kept in estimate.json; an estimate that was stopped begins again.
/// Asked to stop, it writes a checkpoint and throws InterruptedError, whose hint says how to go on.
RunResult train(Dataset dataset, const LabelHistory& history, const Backbone& backbone,
                const TrainOptions& options, const std::string& config,
                const BadImagePolicy& policy, const Context& context);

}  // namespace protogcd
