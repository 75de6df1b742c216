// Training from images to a run folder: what `protogcd train` and `discover` do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/data/sample.h"
#include "protogcd/discovery/class_number.h"
#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/methods/schedule.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/model/found_classes.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/sgd.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// The defaults are the reference's.
struct TrainOptions {
  std::filesystem::path out;
  bool overwrite = false, resume = false;

  /// All classes, old and new. Nothing: estimated where `estimate` is set, else those that the data
  /// names.
  std::optional<std::int64_t> k;
  std::optional<ClassNumberOptions> estimate;  ///< its `model` is set by `train`
  MaterialOptions material;
  ObjectiveOptions objective;
  ScheduleOptions schedule;
  SgdOptions sgd;
  /// Eq. 10 ranks all unlabelled images once an epoch; the released code ranks each batch.
  bool hard_from_whole_set = false;
  std::int64_t head_hidden = 2048, projection = 256, wide_projection = 0;
  std::filesystem::path prior;  ///< class,share; empty: uniform

  /// What predictions call an outlier: the score, and the share of unlabelled images that is not.
  OutlierScore outlier_score = OutlierScore::kVonMises;
  double outlier_keep = 0.95;

  std::int64_t eval_every = 5;     ///< epochs between evaluations; the last epoch always has one
  double checkpoint_seconds = 60;  ///< at least so long between checkpoints; 0: after every step
  bool deterministic = false;      ///< on CUDA: the same bits every time, at some cost
  bool attention = true;           ///< write attention.safetensors, for the report

  std::string config;  ///< the resolved configuration as TOML, for the record
};

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
CandidateOptions candidate_of(const TrainOptions& options, const Backbone& backbone);

/// Trains, evaluates, predicts the unlabelled images and writes the run folder. What cannot be read
/// is left out first, so that no later step fails on it.
///
/// Stopped at any point and resumed, it gives the same model, predictions and metrics (times aside)
/// as if it had not been stopped: on a CPU with the same threads, on CUDA with `deterministic`.
/// A K that was estimated is kept in estimate.json; an estimate that was stopped begins again.
/// Asked to stop, it writes a checkpoint and throws InterruptedError, whose hint says how to go on.
TrainSummary train(Dataset dataset, const Backbone& backbone, const TrainOptions& options,
                   const BadImagePolicy& policy, const Context& context);

}  // namespace protogcd
