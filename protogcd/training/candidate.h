// A model trained for a while, to find out what its number of classes or its settings are worth.
// Candidates share images, trunk and bank, and with the same seed also draws, views and the first
// weights of everything but further prototypes: neighbours differ by their number alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/methods/learning_rate.h"
#include "protogcd/methods/method_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/sgd.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

class Progress;

struct CandidateOptions {
  std::int64_t classes = 1;
  MethodChoice method = {};
  ScheduleOptions schedule = {};  ///< may be longer than the training
  SgdOptions sgd = {};
  std::int64_t steps = 0;
  std::uint64_t seed = 0;
  TrainingPlan plan = {};
  /// What goes on, for who stops it.
  std::string purpose = "the number of classes was estimated";
  bool sees_calibration = false;  ///< features of the images kept out of training are wanted
  bool may_diverge = false;       ///< features that are no numbers are an answer, not an error
};

/// What the trained model makes of the images, on the CPU in float32.
struct Candidate {
  at::Tensor labelled = {},
             unlabelled = {};   ///< z, unit rows, [N_l, D] and [N_u, D], of the centre views
  Prototypes prototypes = {};   ///< mu
  at::Tensor calibration = {};  ///< z of the images kept out of training, where asked for
};

/// One for each of the options, in their order. Trained side by side on a CPU with a bank, where
/// that is quicker (docs/class-number.md): each by its share of the threads. Adds each step to
/// `progress`; hands each to `trained` as soon as it is there. InterruptedError where the context
/// asks to stop; TrainingError where a training diverges.
std::vector<Candidate> train_candidates(
    TrainingMaterial& material, const Backbone& backbone,
    const std::vector<CandidateOptions>& options, Progress& progress, const Context& context,
    const std::function<void(std::size_t, const Candidate&)>& trained = {});

/// TrainingMaterial::method_input with what the method wants to know of the images before it is
/// made.
MethodInput prepared_input(TrainingMaterial& material, const Backbone& backbone,
                           const MethodOptions& method, std::int64_t k, std::int64_t epochs,
                           std::uint64_t seed, const TrainingPlan& plan, const Context& context);

/// Features of one set by the backbone as it is: unit rows on the CPU in float32. Those that the
/// material keeps are not computed twice.
at::Tensor untrained_features(TrainingMaterial& material, const Backbone& backbone, SampleSet set,
                              const Context& context);
/// The same of both sets that are trained on.
Candidate untrained_candidate(TrainingMaterial& material, const Backbone& backbone,
                              const Context& context);

}  // namespace protogcd
