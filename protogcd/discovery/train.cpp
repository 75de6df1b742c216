#include "protogcd/discovery/train.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"
#include "protogcd/data/calibration_set.h"
#include "protogcd/discovery/before_training.h"
#include "protogcd/discovery/confidence.h"
#include "protogcd/discovery/earlier_run.h"
#include "protogcd/discovery/findings.h"
#include "protogcd/discovery/frozen_fit.h"
#include "protogcd/discovery/label_queue.h"
#include "protogcd/discovery/report_files.h"
#include "protogcd/discovery/run_beginning.h"
#include "protogcd/discovery/run_time.h"
#include "protogcd/discovery/starts.h"
#include "protogcd/discovery/tune.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/outlier_calibration.h"
#include "protogcd/nn/communicator.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/state_file.h"
#include "protogcd/run/epoch_comparison.h"
#include "protogcd/run/label_next.h"
#include "protogcd/run/metrics_file.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/training/candidate.h"
#include "protogcd/training/set_features.h"
#include "protogcd/training/training_loop.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::int64_t number_of_classes(const TrainOptions& options, const Dataset& dataset) {
  const auto named = static_cast<std::int64_t>(dataset.classes.size());
  const auto old = static_cast<std::int64_t>(dataset.old_classes);
  if (!options.k && named == old && dataset.count(SampleSet::kUnlabelled) > 0) {
    throw UsageError(option_name("k") + ": how many classes are there, old and new together?",
                     fmt::format("the labelled images have {} classes", old));
  }
  const std::int64_t k = options.k.value_or(named);
  const auto images = static_cast<std::int64_t>(dataset.count(SampleSet::kLabelled) +
                                                dataset.count(SampleSet::kUnlabelled));
  if (k > images) {
    throw UsageError(fmt::format("{}: {} classes in {} images", option_name("k"), k, images),
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

ModelInfo model_info(const Backbone& backbone, const Dataset& dataset, std::int64_t k,
                     const TrainOptions& options) {
  ModelInfo info = untrained_model_info(backbone, dataset.old_names(), k, options.material.reading);
  info.method = options.method->name();
  if (options.material.grad_from_block)
    info.first_trained_block = *options.material.grad_from_block;
  return info;
}

// In predictions.csv: as many as the page shows of an image.
constexpr const char* kShownProbabilities = "3";

/// The old classes, and the new ones that images were found for.
std::vector<std::int64_t> classes_with_images(const std::vector<std::int32_t>& labels,
                                              const ModelInfo& info) {
  std::vector<bool> found(static_cast<std::size_t>(info.k()), false);
  for (const std::int32_t label : labels) found[static_cast<std::size_t>(label)] = true;
  std::vector<std::int64_t> classes;
  for (std::int64_t c = 0; c < info.k(); ++c)
    if (!info.is_new(c) || found[static_cast<std::size_t>(c)]) classes.push_back(c);
  return classes;
}

// Fewer images do not say where the most outlying twentieth begins.
constexpr std::size_t kLeastForThreshold = 20;

class Trainer {
 public:
  /// All references must outlive it.
  Trainer(RunFolder& folder, TrainingMaterial& material, const Backbone& backbone, ModelInfo info,
          double frozen_accuracy, const std::optional<EarlierRun>& earlier, Starts starts,
          const std::optional<Confidence>& confidence, const TrainOptions& options,
          Clock::time_point started, const Context& context)
      : options_(options),
        started_(started),
        context_(context),
        frozen_accuracy_(frozen_accuracy),
        earlier_(earlier),
        starts_(std::move(starts)),
        confidence_(confidence),
        folder_(folder),
        material_(material),
        backbone_(backbone),
        placement_(material.placement()),
        info_(std::move(info)),
        set_(material.set()),
        to_predict_(set_.to_predict()),
        truths_(truths_of(to_predict_)),
        model_(earlier ? with_blocks_of(*earlier, backbone) : backbone, info_, placement_,
               material.trunk()),
        method_(make_method()),
        sets_(material, model_.blocks(), context) {}

  RunResult run();

 private:
  std::unique_ptr<Method> make_method() const;
  void train_epochs();
  void evaluate_all();
  void predict_and_evaluate();
  void evaluate_sets();
  void drop_empty_classes();
  at::Tensor calibrate_and_predict();
  void write_predictions();
  void write_label_queue(const at::Tensor& features);
  void write_report_files(const at::Tensor& features);
  void write_features(const at::Tensor& after);
  Predictions predict(std::initializer_list<SampleSet> sets);
  std::vector<std::int32_t> found_labels() const;

  const TrainOptions& options_;
  const Clock::time_point started_;
  const Context& context_;
  const double frozen_accuracy_;
  const std::optional<EarlierRun>& earlier_;
  const Starts starts_;
  const std::optional<Confidence> confidence_;
  RunFolder& folder_;
  TrainingMaterial& material_;
  const Backbone& backbone_;
  const Placement placement_;
  const ModelInfo info_;  ///< as it is trained; at the end model_ may have fewer classes
  const TrainingSet& set_;
  const std::vector<Sample> to_predict_;    ///< all that came without a label, and
  const std::vector<std::int32_t> truths_;  ///< what is known of it
  TrainedModel model_;
  std::unique_ptr<Method> method_;
  MaterialFeatures sets_;

  double seconds_before_ = 0;                          ///< of the run's earlier processes
  Outcome outcome_;                                    ///< of the latest evaluation, as are
  std::optional<Evaluation> on_unlabelled_, on_test_;  ///< these
  Predictions predictions_;                            ///< of the unlabelled images
  /// Of their confidence, at the method's temperature and as it is told; NaN: no truth is known.
  double calibration_error_before_ = std::numeric_limits<double>::quiet_NaN(),
         calibration_error_ = calibration_error_before_;
};

std::unique_ptr<Method> Trainer::make_method() const {
  MethodInput input = prepared_input(material_, backbone_, *options_.method, info_.k(),
                                     options_.loop.schedule.epochs, context_.seed, {}, context_);
  if (!starts_.empty()) input.first_classes = starts_.classes[starts_.surest()];
  if (earlier_) input.taken = head_of(*earlier_, info_);
  return options_.method->make(input);
}

void Trainer::evaluate_all() {
  outcome_ = method_->outcome(sets_);
  model_.set_prototypes(outcome_.prototypes);
  predict_and_evaluate();
}

void Trainer::predict_and_evaluate() {
  predictions_ = predict({SampleSet::kUnlabelled, SampleSet::kAside});
  predictions_.labels = found_labels();
  evaluate_sets();
}

void Trainer::evaluate_sets() {
  on_unlabelled_ = evaluate(predictions_, truths_, info_.old_classes);
  if (set_.count(SampleSet::kTest) > 0) {
    on_test_ = evaluate(predict({SampleSet::kTest}), truths_of(set_.of(SampleSet::kTest)),
                        info_.old_classes);
  }
}

Predictions Trainer::predict(std::initializer_list<SampleSet> sets) {
  Predictions predictions;
  for (const SampleSet set : sets) {
    material_.for_each_rows(
        set, context_, [&](const TrunkTokens& tokens) { return model_.cosines(tokens); },
        [&](const at::Tensor& cosines) { predictions.add(cosines, model_); });
  }
  predictions.finish();
  return predictions;
}

/// By the prototypes, or as the method found them in another way: it has not seen what was set
/// aside.
std::vector<std::int32_t> Trainer::found_labels() const {
  std::vector<std::int32_t> labels = predictions_.labels;
  std::ranges::copy(outcome_.labels, labels.begin());
  return labels;
}

/// The outlier threshold comes from labelled images that training has not seen; where too few were
/// kept out, from the unlabelled images, of which it is a fixed share. Returns the features of the
/// unlabelled images, if there are any.
at::Tensor Trainer::calibrate_and_predict() {
  if (to_predict_.empty()) return {};
  const ModelOutputs trained_on = outputs_of(model_, material_.tokens(SampleSet::kUnlabelled),
                                             "the unlabelled images", context_);
  at::Tensor held_out;
  if (set_.count(SampleSet::kCalibration) >= kLeastForThreshold) {
    held_out = outputs_of(model_, material_.tokens(SampleSet::kCalibration),
                          "the images kept out of training", context_)
                   .cosines;
  }
  calibration_error_before_ = calibration_error_of(predictions_, truths_);
  if (confidence_) model_.set_confidence(*confidence_);
  model_.set_outliers(calibrate_outliers(model_.info(), trained_on.cosines, options_.outlier_score,
                                         options_.outlier_keep, held_out));
  ModelOutputs all = trained_on;
  if (set_.count(SampleSet::kAside) > 0) {
    const ModelOutputs aside =
        outputs_of(model_, material_.tokens(SampleSet::kAside), "the images set aside", context_);
    all = {.features = at::cat({all.features, aside.features}),
           .cosines = at::cat({all.cosines, aside.cosines})};
  }
  predictions_ = {};
  predictions_.keep_posterior = true;
  predictions_.add(all.cosines, model_);
  predictions_.finish();
  if (!outcome_.labels.empty()) predictions_.assign(found_labels(), all.cosines, model_);
  calibration_error_ = calibration_error_of(predictions_, truths_);
  if (confidence_) evaluate_sets();  // what is told of confidence is what the model says now
  return all.features;
}

/// Extras, after everything that the run is for: attention that cannot be had is no failure.
void Trainer::write_report_files(const at::Tensor& features) {
  if (!features.defined()) return;
  write_features(features);
  if (!options_.report || !options_.method->trains()) return;  // they show what training changed
  try {
    write_attention(folder_.attention(), backbone_, model_, set_,
                    attention_examples(predictions_, model_.info()), context_.threads);
  } catch (const std::exception& error) {
    context_.log.warning(fmt::format("no attention maps for the report: {}", error.what()));
  }
}

/// The features as the backbone alone has them, beside those of the model.
void Trainer::write_features(const at::Tensor& after) {
  const auto untrained = make_trained_blocks(backbone_.vit, info_.first_trained_block,
                                             placement_.trained, placement_.device);
  std::vector<at::Tensor> parts;
  for (const SampleSet set : {SampleSet::kUnlabelled, SampleSet::kAside}) {
    const at::NoGradGuard no_grad;
    material_.for_each_rows(
        set, context_, [&](const TrunkTokens& tokens) { return untrained->forward(tokens); },
        [&](const at::Tensor& rows) { parts.push_back(unit_rows(rows).to(at::kCPU, at::kHalf)); });
  }
  write_embeddings(folder_.embeddings(), {.before = at::cat(parts),
                                          .after = after,
                                          .prototypes = unit_rows(model_.prototypes().centres),
                                          .truths = truths_,
                                          .classes = set_.dataset().classes});
}

void Trainer::write_predictions() {
  PredictionWriter writer(folder_.predictions(), model_.info(), kShownProbabilities);
  for (std::size_t i = 0; i < to_predict_.size(); ++i)
    writer.row(comparable_path(set_.sources().path(to_predict_[i].source)), predictions_, i);
  writer.commit();
}

void Trainer::write_label_queue(const at::Tensor& features) {
  if (!features.defined()) return;
  std::vector<std::size_t> labelled(static_cast<std::size_t>(model_.info().k()));
  for (const SampleSet set : {SampleSet::kLabelled, SampleSet::kCalibration}) {
    for (const Sample& sample : set_.of(set)) ++labelled[static_cast<std::size_t>(sample.truth)];
  }
  std::vector<LabelNext> rows;
  for (const auto& [image, why] : label_queue(features, predictions_, model_.info(), labelled)) {
    const PredictedImage found = predictions_.row(
        comparable_path(set_.sources().path(to_predict_[image].source)), image, model_.info());
    rows.push_back({found.path, found.class_name, found.confidence, why});
  }
  write_label_next(folder_.label_next(), rows);
}

/// A prototype that no image is nearest to: what the run found is the same without it.
void Trainer::drop_empty_classes() {
  const std::vector<std::int64_t> kept = classes_with_images(predictions_.labels, info_);
  const std::int64_t new_classes = info_.k() - info_.old_classes,
                     empty = info_.k() - static_cast<std::int64_t>(kept.size());
  if (to_predict_.empty() || empty == 0) return;
  if (!options_.drops_empty()) {
    if (5 * empty < new_classes) return;  // a few may stay empty
    context_.log.warning(fmt::format(
        "{} of the {} new classes have no image: {} is probably too large", empty, new_classes,
        options_.k ? fmt::format("{} {}", option_name("k"), info_.k())
                   : fmt::format("the number of {} classes", info_.k())));
    return;
  }
  context_.log.info(fmt::format("{} of the {} new classes found no image: {} classes are left",
                                empty, new_classes, kept.size()));
  model_.keep_classes(kept);
  for (std::int32_t& label : outcome_.labels)
    label = static_cast<std::int32_t>(std::ranges::lower_bound(kept, label) - kept.begin());
  predict_and_evaluate();
}

void Trainer::train_epochs() {
  TrainingLoop loop(folder_, material_, model_.blocks(), *method_, options_.loop,
                    identity_of(options_, info_, material_, context_.seed), context_,
                    {.borrow = options_.material.borrow});
  seconds_before_ = loop.run(options_.resume, started_, [this](nlohmann::json& line) {
    evaluate_all();
    line["unlabelled"] = to_json(*on_unlabelled_);
    line["test"] = on_test_ ? to_json(*on_test_) : nlohmann::json("none");
    if (on_unlabelled_->samples == 0) return std::string();  // said as the run began
    return fmt::format("unlabelled images: {}", in_words(*on_unlabelled_));
  });
}

RunResult Trainer::run() {
  note_method(folder_, options_.method->name(), *method_);
  std::optional<TakenFrom> taken;
  if (earlier_) {
    taken = taken_from(*earlier_, info_, *method_);
    note_from(folder_, *taken);
    tell_taken(*taken, *earlier_, info_, context_.log);
  }
  context_.log.info(
      fmt::format("{} labelled, {} unlabelled and {} test images; {} old and {} new classes",
                  set_.count(SampleSet::kLabelled), to_predict_.size(),
                  set_.count(SampleSet::kTest), info_.old_classes, info_.k() - info_.old_classes));
  if (std::ranges::all_of(truths_, [](std::int32_t truth) { return truth < 0; }))
    context_.log.info("no labels to compare with: accuracies are not told");
  if (options_.method->trains()) train_epochs();
  if (!on_unlabelled_) evaluate_all();  // no training, or resumed after its last epoch
  drop_empty_classes();
  const at::Tensor features = calibrate_and_predict();

  RunResult result{
      .k = model_.info().k(),
      .k_old = info_.old_classes,
      .dropped = info_.k() - model_.info().k(),
      .from = std::move(taken),
      .confidence = confidence_,
      .calibration_error = calibration_error_,
      .calibration_error_before = calibration_error_before_,
      .labelled = set_.count(SampleSet::kLabelled),
      .unlabelled = to_predict_.size(),
      .test = set_.count(SampleSet::kTest),
      .skipped = set_.skipped().listed(set_.sources()),
      .epochs = options_.epochs(),
      .on_unlabelled = *on_unlabelled_,
      .on_test = on_test_,
      .by_epoch = compare_epochs(read_metrics(folder_.metrics())),
      .classes = describe_classes(model_.info().classes, info_.old_classes, predictions_.labels,
                                  predictions_.confidence, truths_, set_.dataset().classes),
      .outliers = predictions_.outliers(model_.info()),
      .outlier_keep = options_.outlier_keep,
      .frozen_accuracy = frozen_accuracy_,
      .out = options_.out};
  std::vector<std::int32_t> trained_on = predictions_.labels;  // short trainings saw no others
  trained_on.resize(set_.count(SampleSet::kUnlabelled));
  const auto stability = class_stability(starts_, trained_on, result.k);
  for (std::size_t c = 0; c < stability.size(); ++c) result.classes[c].stability = stability[c];
  model_.set_stability(stability);
  if (model_.info().outliers && model_.info().outliers->held_out)
    result.calibrated_on = static_cast<std::size_t>(model_.info().outliers->images);
  write_predictions();
  write_label_queue(features);
  const auto teacher = method_->teacher();
  model_.save(folder_.model(), teacher ? teacher->parameters : method_->parameters());
  write_report_files(features);
  result.seconds = seconds_before_ + seconds_since(started_);
  return result;
}

}  // namespace

ClassNumberOptions estimate_of(const TrainOptions& options) {
  ClassNumberOptions estimate = options.estimate;
  estimate.model.method = options.method;
  estimate.model.schedule = options.loop.schedule;
  estimate.model.sgd = options.loop.sgd;
  return estimate;
}

namespace {

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

/// The training that comes before the run's own, if any.
std::optional<FirstStage> stage_before(const TrainOptions& options) {
  return options.from.empty() ? options.method->first_stage() : std::nullopt;
}

std::int64_t epochs_before(const TrainOptions& options) {
  const auto stage = stage_before(options);
  return stage ? stage->epochs : 0;
}

/// Options of the first stage: the same images, views and optimiser, and nothing found out before.
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

/// Trains the first stage as far as that was not done before. Returns the seconds that processes
/// before this one took for it.
double train_first_stage(const TrainOptions& first, TrainingMaterial& material,
                         const Backbone& backbone, const LabelHistory& history,
                         const std::string& config, const std::string& out,
                         Clock::time_point started, const Context& context) {
  const fs::path finished = first.out / run_files::kResult;
  if (any_process(context, first.resume && fs::exists(finished)))
    return fs::exists(finished) ? read_result(finished).seconds : 0;
  context.log.info(fmt::format("first {} epochs of {}, in {}", first.loop.schedule.epochs,
                               first.method->name(), first.out.string()));
  RunFolder folder(first.out, how_to_open(first));
  begin_folder(folder, material, history, first, config, context);
  try {
    const std::optional<EarlierRun> none;
    Trainer trainer(folder, material, backbone,
                    model_info(backbone, material.set().dataset(), first.k.value(), first),
                    std::numeric_limits<double>::quiet_NaN(), none, {}, std::nullopt, first,
                    started, context);
    const RunResult result = trainer.run();
    write_result(folder.result(), result);
    return result.seconds - seconds_since(started);
  } catch (const InterruptedError& error) {
    throw InterruptedError(
        fmt::format("{} of the first stage", error.marked()),
        fmt::format("go on with: {}", context.command_line({{"out", out}, {"resume", ""}})));
  }
}

/// One line before the work: how long it takes in all.
void tell_time(TrainingMaterial& material, const Backbone& backbone, const TrainOptions& options,
               bool estimates, bool tunes, bool calibrates, const Context& context) {
  const TrainingSet& set = material.set();
  const auto count = [&](SampleSet which) { return static_cast<std::int64_t>(set.count(which)); };
  const Sampler sampler = material.make_sampler({}, 0);
  const auto batch = static_cast<std::int64_t>(sampler.batch_size()),
             steps_per_epoch = static_cast<std::int64_t>(sampler.batches_per_epoch());
  RunWork work{.views = count(SampleSet::kUnlabelled) + count(SampleSet::kTest) +
                        count(SampleSet::kCalibration),
               .steps = (options.epochs() + epochs_before(options)) *
                        std::max<std::int64_t>(steps_per_epoch, 1),
               .views_per_step = 2 * batch,
               .fresh_views = !material.bank_plan()};
  if (estimates || tunes || calibrates || options.look_at_data || options.set_foreign_aside)
    work.views += count(SampleSet::kLabelled);
  for (const auto& bank : {material.bank_plan(), material.strong_bank_plan()})
    if (bank) work.views += bank->layout.views * static_cast<std::int64_t>(set.train().size());
  work.steps += steps_of_starts(material, options);
  if (estimates) work.steps += estimate_steps(material, backbone, estimate_of(options), context);
  if (tunes) work.steps += tuning_steps(material, options);
  if (calibrates) work.steps += confidence_steps(material, options);
  context.log.info(fmt::format("about {} in all{}{}{}",
                               human_seconds(about_seconds(work, material, backbone)),
                               estimates ? ", the number of classes included" : "",
                               tunes ? ", the trials of settings included" : "",
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
  if (estimates) check_class_number(material.set(), estimate_of(options));
  const bool tunes = can_tune(material, options, context);
  const bool calibrates = can_calibrate(material, options, context);
  tell_time(material, backbone, options, estimates, tunes, calibrates, context);
  // Early, to keep what is found before training.
  const bool begins_early = estimates || tunes || options.set_foreign_aside;
  if (begins_early) begin_folder(folder, material, history, options, config(options), context);
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
  const ModelInfo info = model_info(
      backbone, readable, estimate ? estimate->k : number_of_classes(options, readable), options);
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
    if (!fs::exists(folder.checkpoints()))
      start -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(before));
    any_process(context, false);  // until the first one has written it
    chosen.from =
        (options.shared_out.empty() ? options.out : options.shared_out) / run_files::kFirstStage;
    earlier = open_earlier_run(chosen, backbone, /*is_first_stage=*/true);
  }
  // Prototypes of every class are one beginning, and there is no other.
  if (earlier && head_of(*earlier, info).has_every_class()) chosen.beginnings = 1;
  const Backbone begun = earlier ? with_blocks_of(*earlier, backbone) : backbone;
  Starts starts = starts_of(folder, material, begun, chosen, info.k(), context);
  std::optional<Confidence> confidence;
  if (calibrates) confidence = confidence_of(folder, material, backbone, chosen, info.k(), context);
  Trainer trainer(folder, material, backbone, info, fit, earlier, std::move(starts), confidence,
                  chosen, start, context);
  std::optional<FindingCounts> findings;
  if (options.look_at_data)
    findings = write_findings_of(material, backbone, frozen, foreign, folder.findings(), context);
  frozen.reset();  // training wants the memory
  RunResult result = trainer.run();
  result.findings = std::move(findings);
  result.estimate = std::move(estimate);
  result.tuning = std::move(tuning);
  write_result(folder.result(), result);
  return result;
}

}  // namespace protogcd
