#include "protogcd/discovery/first_stage.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/discovery/run_beginning.h"
#include "protogcd/discovery/trainer.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

namespace fs = std::filesystem;

std::optional<FirstStage> stage_before(const TrainOptions& options) {
  return options.from.empty() ? options.method->first_stage() : std::nullopt;
}

TrainOptions options_of(const FirstStage& stage, const TrainOptions& options, std::int64_t k,
                        const Backbone& backbone) {
  TrainOptions first = options;
  first.method = stage.method;
  first.out = options.out / run_files::kFirstStage;
  first.loop.schedule.epochs = first.loop.eval_every = stage.epochs;  // its end is what is wanted
  first.overwrite = false;
  first.resume = options.resume && fs::exists(first.out / run_files::kConfig);
  first.k = k;
  first.estimate_k = first.tune = first.set_foreign_aside = first.look_at_data = false;
  first.report = false;
  first.beginnings = 1;
  first.calibrate_confidence = first.drop_empty = false;
  first.decay_all = std::nullopt;  // as its own method has it
  resolve(first, {.has_builtin_backbone = backbone.is_builtin()});
  return first;
}

double train_first_stage(const TrainOptions& first, TrainingMaterial& material,
                         const Backbone& backbone, const LabelHistory& history,
                         const std::string& config, const std::string& out,
                         std::chrono::steady_clock::time_point started, const Context& context) {
  const fs::path finished = first.out / run_files::kResult;
  if (any_process(context, first.resume && fs::exists(finished)))
    return fs::exists(finished) ? read_result(finished).seconds : 0;
  context.log.info(fmt::format("first {} epochs of {}, in {}", first.loop.schedule.epochs,
                               first.method->name(), first.out.string()));
  RunFolder folder(first.out, how_to_open(first));
  begin_folder(folder, material, history, first, config, context);
  try {
    Trainer trainer({.folder = folder,
                     .material = material,
                     .backbone = backbone,
                     .info = model_info(backbone, material.set().dataset(), first.k.value(), first),
                     .options = first,
                     .started = started,
                     .context = context});
    write_result(folder.result(), trainer.run());
    return trainer.seconds_before();
  } catch (const InterruptedError& error) {
    throw InterruptedError(
        fmt::format("{} of the first stage", error.marked()),
        fmt::format("go on with: {}", context.command_line({{"out", out}, {"resume", ""}})));
  }
}

}  // namespace protogcd
