// The training that comes before a run's own: of another method, in RUN/first-stage, for the blocks
// that the run begins with.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/run/label_history.h"

namespace protogcd {

/// Nothing where the method needs none, or the run goes on from another.
std::optional<FirstStage> stage_before(const TrainOptions& options);

/// Its options: the same images, views and optimiser, and nothing found out before.
TrainOptions options_of(const FirstStage& stage, const TrainOptions& options, std::int64_t k,
                        const Backbone& backbone);

/// Trains it as far as that was not done before. `config`: of its own folder; `out`: the run's.
/// Returns the seconds that processes before this one took for it.
double train_first_stage(const TrainOptions& first, TrainingMaterial& material,
                         const Backbone& backbone, const LabelHistory& history,
                         const std::string& config, const std::string& out,
                         std::chrono::steady_clock::time_point started, const Context& context);

}  // namespace protogcd
