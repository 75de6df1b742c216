// Short trainings that a run makes before its own: how they are made, and how those are judged that
// do not see some of the labels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "protogcd/data/hidden_split.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/training/candidate.h"

namespace protogcd {

/// Of a short training: a fifth of the run's epochs, but enough steps to be sure of something.
std::int64_t short_epochs(const TrainingMaterial& material, const TrainOptions& options);
/// Whether the run is long enough that short trainings before it are worth their time.
bool is_worth_trials(const TrainingMaterial& material, const TrainOptions& options);

/// A training of K classes like the run's own, but of so many epochs.
CandidateOptions short_training(const TrainOptions& options, const TrainingMaterial& material,
                                std::int64_t k, std::int64_t epochs, const char* purpose);

/// How well a training found what was hidden from it. The accuracies are NaN where it diverged.
struct TrialScore {
  double old_classes = 0, new_classes = 0, together = 0;
  std::vector<double> worth = {};  ///< of each image: what it adds to `together` where it is right
  std::vector<bool> right = {};
  at::Tensor scores = {};  ///< of these images, by which the model tells classes, [N, K]
};

/// By the images whose labels the trial did not see: the hidden ones, and those kept out for
/// calibration, weighted so that `old_share` of the worth is that of images of old classes.
TrialScore judge_trial(const Candidate& model, const TrainingSet& set, const HiddenSplit& split,
                       double old_share);

/// The share of images of old classes among the unlabelled ones, if all classes are of one size.
double expected_old_share(const Dataset& dataset, std::int64_t k);

}  // namespace protogcd
