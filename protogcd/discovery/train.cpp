#include "protogcd/discovery/train.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/calibration_set.h"
#include "protogcd/discovery/before_training.h"
#include "protogcd/discovery/confidence.h"
#include "protogcd/discovery/findings.h"
#include "protogcd/discovery/first_stage.h"
#include "protogcd/discovery/frozen_fit.h"
#include "protogcd/discovery/run_beginning.h"
#include "protogcd/discovery/run_time.h"
#include "protogcd/discovery/trainer.h"
#include "protogcd/discovery/tune.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/device.h"
#include "protogcd/training/candidate.h"

namespace protogcd {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t number_of_classes(const TrainOptions& options, const Dataset& dataset) {
  const auto named = static_cast<std::int64_t>(dataset.classes.size());
  const auto old = static_cast<std::int64_t>(dataset.old_classes);
  if (!options.k && named == old && dataset.count(SampleSet::kUnlabelled) > 0) {
    throw UsageError(option_name("k") + ": how many classes are there, old and new together?",
                     fmt::format("the labelled images have {} classes", old));
  }
  const std::int64_t k = options.k.value_or(named);
  const auto unlabelled = static_cast<std::int64_t>(dataset.count(SampleSet::kUnlabelled));
  if (k - old > unlabelled) {
    throw UsageError(fmt::format("{}: {} classes, {} of them new, in {} unlabelled images",
                                 option_name("k"), k, k - old, unlabelled),
                     "a class needs images; leave it out to have the number estimated");
  }
  if (k < std::max<std::int64_t>(old, 1)) {
    throw UsageError(fmt::format(
        "{}: {} is less than the {} classes of the labelled images (K counts old and new)",
        option_name("k"), k, old));
  }
  return k;
}

/// Names go into JSON files, which hold UTF-8 alone.
void check_class_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!is_utf8(name))
      throw DataError(fmt::format("class '{}': its name is not UTF-8", name), "rename its folder");
  }
}

/// Does the backbone fit the labelled classes? Said before training, as another one would help more
/// than any training with this one.
double fit_of(TrainingMaterial& material, const at::Tensor& features, const Context& context) {
  if (!features.defined()) return std::numeric_limits<double>::quiet_NaN();
  RunResult so_far;
  so_far.frozen_accuracy = frozen_accuracy(features, labelled_classes(material.set()));
  const std::string suspect = suspect_in_words(so_far);
  if (!suspect.empty()) context.log.warning(suspect);
  return so_far.frozen_accuracy;
}

/// One line before the work: how long it takes in all.
void tell_time(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
               const FoundBefore& before, const Context& context) {
  const RunWork work = work_of(material, backbone, options, before, context);
  context.log.info(fmt::format("about {} in all{}{}{}",
                               human_seconds(about_seconds(work, material, backbone)),
                               before.classes ? ", the number of classes included" : "",
                               before.settings ? ", the trials of settings included" : "",
                               options.resume ? ", less what was done before" : ""));
}

/// Whether settings are to be tried; where they cannot be, says why.
bool can_tune(const TrainingMaterial& material, const TrainOptions& options,
              const Context& context) {
  if (!options.tune) return false;
  const std::string reason = why_not_tuned(material.set().dataset(), options);
  if (!reason.empty()) context.log.info(fmt::format("no settings are tried: {}", reason));
  return reason.empty();
}

/// Whether it is found out how far confidence is to be trusted; where it cannot be, says why.
bool can_calibrate(const TrainingMaterial& material, const TrainOptions& options,
                   const Context& context) {
  std::string reason;
  const bool can = calibrates_confidence(material, options, reason);
  if (!reason.empty()) context.log.info(fmt::format("confidence is not calibrated: {}", reason));
  return can;
}

}  // namespace

ClassNumberOptions estimate_of(const TrainOptions& options) {
  ClassNumberOptions estimate = options.estimate;
  estimate.model.method = options.method;
  estimate.model.schedule = options.loop.schedule;
  estimate.model.sgd = options.loop.sgd;
  return estimate;
}

RunResult train(Dataset dataset, const LabelHistory& history, const Backbone& backbone,
                const TrainOptions& options, const ConfigurationOf& config,
                const BadImagePolicy& policy, const Context& context) {
  auto start = Clock::now();
  const ComputeSettings settings(context);
  const DeterministicMode deterministic(options.deterministic);
  check_class_names(dataset.classes);
  if (options.material.grad_from_block)
    check_first_trained_block(backbone.config, *options.material.grad_from_block);
  const bool estimates = !options.k && options.estimate_k;
  if (!estimates) number_of_classes(options, dataset);  // wrong ones are told before any work
  std::optional<EarlierRun> earlier = open_earlier_run(options, backbone, /*is_first_stage=*/false);
  const std::optional<FirstStage> stage = stage_before(options);
  RunFolder folder(options.out, how_to_open(options));
  MaterialOptions needed = options.material;
  needed.sees_labelled = estimates || options.tune ||
                         options.calibrate_confidence.value_or(options.has_general_settings()) ||
                         options.method->sees_labelled() ||
                         (stage && stage->method->sees_labelled()) || options.look_at_data ||
                         options.set_foreign_aside;
  needed.use_bank = options.material.use_bank && options.method->trains();
  needed.sees_strong = options.method->sees_strong();
  needed.looks_at_images = options.look_at_data;
  const std::size_t kept_out =
      keep_out_for_calibration(dataset, options.calibration_share, context.seed);
  if (kept_out > 0) {
    context.log.info(fmt::format(
        "{} labelled images are kept out of training, to say what an outlier is ({} {})", kept_out,
        option_name("calibration_share"), options.calibration_share));
  }
  TrainingMaterial material(std::move(dataset), backbone, needed, folder.path(), policy, context);
  if (context.team) {
    check_same_work(context, {{"set of images", material.set().digest()},
                              {"backbone", backbone_sha256(backbone.file)}});
  }
  if (estimates) check_class_number(material.set(), estimate_of(options));
  const bool tunes = can_tune(material, options, context);
  const bool calibrates = can_calibrate(material, options, context);
  tell_time(material, backbone, options,
            {.classes = estimates, .settings = tunes, .confidence = calibrates}, context);
  // Early, to keep what is found before training.
  const bool begins_early = estimates || tunes || options.set_foreign_aside;
  if (begins_early) {
    begin_folder(folder, material, history, options, config(options), context);
    material.keep_features_in(folder.features());
  }
  at::Tensor frozen;  // of the labelled images, where there are any and somebody looks at them
  ForeignImages foreign;
  if ((options.look_at_data || options.set_foreign_aside) &&
      material.set().count(SampleSet::kLabelled) > 0) {
    frozen = untrained_features(material, backbone, SampleSet::kLabelled, context);
    foreign = foreign_of(folder, material, backbone, frozen, options, context);
  }
  if (options.set_foreign_aside) material.set_aside(foreign.places);
  std::optional<ClassNumber> estimate;
  if (estimates) estimate = class_number_of(folder, material, backbone, options, context);
  const Dataset& readable = material.set().dataset();
  ModelInfo info = model_info(
      backbone, readable, estimate ? estimate->k : number_of_classes(options, readable), options);
  if (estimate && earlier) {
    const auto unlabelled = static_cast<std::int64_t>(readable.count(SampleSet::kUnlabelled));
    info = model_info(backbone, readable, with_classes_of(*earlier, info, unlabelled, context.log),
                      options);
  }
  const double fit = fit_of(material, frozen, context);
  TrainOptions chosen = options;
  std::optional<Tuning> tuning;
  if (tunes) {
    tuning = tuning_of(folder, material, backbone, options, info.k(), context);
    chosen = with_setting(options, tuning->chosen);
  }
  if (!begins_early) begin_folder(folder, material, history, options, config(options), context);
  if (stage) {
    const TrainOptions first = options_of(*stage, chosen, info.k(), backbone);
    const double before = train_first_stage(first, material, backbone, history, config(first),
                                            options.out.string(), start, context);
    // A checkpoint of the run itself has counted them already.
    if (!std::filesystem::exists(folder.checkpoints()))
      start -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(before));
    any_process(context, false);  // until the first one has written it
    chosen.from =
        (options.shared_out.empty() ? options.out : options.shared_out) / run_files::kFirstStage;
    earlier = open_earlier_run(chosen, backbone, /*is_first_stage=*/true);
  }
  // Prototypes of the earlier run are one beginning, and there is no other.
  if (earlier && head_of(*earlier, info).keeps_classes(info.old_classes)) chosen.beginnings = 1;
  const Backbone begun = earlier ? with_blocks_of(*earlier, backbone) : backbone;
  Starts starts = starts_of(folder, material, begun, chosen, info.k(), context);
  std::optional<Confidence> confidence;
  if (calibrates) confidence = confidence_of(folder, material, backbone, chosen, info.k(), context);
  Trainer trainer({.folder = folder,
                   .material = material,
                   .backbone = backbone,
                   .info = info,
                   .options = chosen,
                   .started = start,
                   .context = context,
                   .frozen_accuracy = fit,
                   .earlier = std::move(earlier),
                   .starts = std::move(starts),
                   .confidence = confidence});
  std::optional<FindingCounts> findings;
  if (options.look_at_data)
    findings = write_findings_of(material, backbone, frozen, foreign, folder.findings(), context);
  frozen.reset();  // training wants the memory
  remove_folder(folder.features());
  RunResult result = trainer.run();
  result.next = options.next;
  result.findings = std::move(findings);
  result.estimate = std::move(estimate);
  result.tuning = std::move(tuning);
  write_result(folder.result(), result);
  return result;
}

}  // namespace protogcd