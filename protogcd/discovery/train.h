// Training from images to a run folder, whatever the method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/data/sample.h"
#include "protogcd/discovery/class_number.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/model/found_classes.h"
#include "protogcd/nn/backbone.h"

namespace protogcd {

struct TrainSummary {
  std::int64_t k = 0, k_old = 0;
  std::optional<ClassNumber> estimate = {};  ///< where K was not given
  std::size_t labelled = 0, unlabelled = 0, test = 0, skipped = 0;
  std::int64_t epochs = 0;
  double seconds = 0;  ///< of this process
  Evaluation on_unlabelled;
  std::optional<Evaluation> on_test;
  std::vector<FoundClass> classes;  ///< and the unlabelled images in them
  std::uint64_t outliers = 0;       ///< unlabelled images that look like none of them
};

/// A model of such a run, for an estimate of its number of classes.
CandidateOptions candidate_of(const TrainOptions& options);

/// Trains, evaluates, predicts the unlabelled images and writes the run folder, `config` among it.
/// What cannot be read is left out first, so that no later step fails on it. The options must be
/// resolved.
///
/// Stopped at any point and resumed, it gives the same model, predictions and metrics (times aside)
/// as if it had not been stopped: on a CPU with the same threads, on CUDA with `deterministic`.
/// A K that was estimated is kept in estimate.json; an estimate that was stopped begins again.
/// Asked to stop, it writes a checkpoint and throws InterruptedError, whose hint says how to go on.
TrainSummary train(Dataset dataset, const Backbone& backbone, const TrainOptions& options,
                   const std::string& config, const BadImagePolicy& policy, const Context& context);

}  // namespace protogcd
