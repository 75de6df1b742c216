// Where a run begins. From some first prototypes training ends in two prototypes for one class and
// none for another. Several short trainings from different ones tell which: where classes are told
// apart, predictions are sure. The surest training's classes are where the run begins.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

struct Starts {
  /// Of each unlabelled image, by each of the short trainings.
  std::vector<std::vector<std::int32_t>> classes;
  /// Mean entropy of the predictions of unlabelled images, in nats.
  std::vector<double> doubt;

  nlohmann::json to_json() const;
  /// nlohmann's exceptions where it is something else.
  static Starts from_json(const nlohmann::json& json);

  bool empty() const { return classes.empty(); }
  /// The lowest doubt.
  std::size_t surest() const;
};

/// Training steps of all short trainings together; 0 where none are made.
std::int64_t steps_of_starts(const TrainingMaterial& material, const TrainOptions& options);

/// What they depend on beside images and model.
std::string start_settings(const TrainingMaterial& material, const TrainOptions& options,
                           std::int64_t k, std::uint64_t seed);

/// None where the options ask for one start, or the method cannot begin with classes.
/// InterruptedError where the context asks to stop.
Starts try_starts(TrainingMaterial& material, const Backbone& backbone, std::int64_t k,
                  const TrainOptions& options, const Context& context);

/// For each of K classes: how much of it other trainings find again, the mean over starts of the
/// largest overlap (intersection over union) with one of their classes. Nothing for an empty class;
/// empty without starts.
std::vector<std::optional<double>> class_stability(const Starts& starts,
                                                   const std::vector<std::int32_t>& classes,
                                                   std::int64_t k);

}  // namespace protogcd
