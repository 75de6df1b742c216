// Settings that suit a collection, found by the labels that the run was given (docs/tuning.md).
// Some of the labelled classes are taken for new ones, models of several settings are trained
// without their labels, and those labels say which model found the classes best. The truth of
// unlabelled images is never looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/tuning.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// In words, why nothing can be tried with these options; empty where it can.
std::string why_not_tuned(const Dataset& dataset, const TrainOptions& options);

/// Training steps that `tune` takes.
std::int64_t tuning_steps(const TrainingMaterial& material, const TrainOptions& options);

/// What a choice depends on beside images and model.
std::string tuning_settings(const TrainingMaterial& material, const TrainOptions& options,
                            std::int64_t k, std::uint64_t seed);

/// `options` must be resolved and `why_not_tuned` empty. InterruptedError where the context asks to
/// stop; TrainingError where training diverges with the settings as they are.
Tuning tune(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
            std::int64_t k, const Context& context);

/// The options with these multiples of their settings.
TrainOptions with_setting(const TrainOptions& options, const TunedSetting& setting);

// The parts, for tests.

/// Another setting is taken only if it is better than the default by more than this and one
/// standard error: a choice by noise is worse than none.
inline constexpr double kTuningMargin = 0.01;

/// Fills in `rival`, `gain`, `error` and `chosen` by the trials of the last stage: the default's,
/// and of one other setting. The error is that over draws, but no less than `of_images`: two draws
/// may agree by chance.
void decide(Tuning& tuning, double of_images);

}  // namespace protogcd
