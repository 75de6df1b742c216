#include "protogcd/discovery/trainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "protogcd/core/error.h"
#include "protogcd/core/event_file.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"
#include "protogcd/discovery/report_files.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/outlier_calibration.h"
#include "protogcd/nn/device.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/training/checkpoint.h"
#include "protogcd/training/step_runner.h"

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
    throw UsageError("--k: how many classes are there, old and new together?",
                     fmt::format("the labelled images have {} classes", old));
  }
  const std::int64_t k = options.k.value_or(named);
  if (k < std::max<std::int64_t>(old, 1)) {
    throw UsageError(fmt::format(
        "--k: {} is less than the {} classes of the labelled images (K counts old and new)", k,
        old));
  }
  return k;
}

/// Names go into JSON files, which hold UTF-8 alone.
void check_class_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    try {
      static_cast<void>(nlohmann::json(name).dump());
    } catch (const nlohmann::json::exception&) {
      throw DataError(fmt::format("class '{}': its name is not UTF-8", name), "rename its folder");
    }
  }
}

ModelInfo model_info(const Backbone& backbone, const Dataset& dataset, std::int64_t k,
                     const TrainOptions& options) {
  const std::vector<std::string> old(
      dataset.classes.begin(),
      dataset.classes.begin() + static_cast<std::ptrdiff_t>(dataset.old_classes));
  ModelInfo info = untrained_model_info(backbone, old, k, options.material.reading);
  info.head.hidden = options.head_hidden;
  info.head.projection = options.projection;
  info.head.wide_projection = options.wide_projection;
  info.temperature = options.objective.tau_base;
  if (options.material.grad_from_block)
    info.first_trained_block = *options.material.grad_from_block;
  return info;
}

/// Everything a run's numbers depend on; the names are for people.
std::map<std::string, std::string> identity_of(const TrainOptions& o, const ModelInfo& info,
                                               const TrainingMaterial& material,
                                               std::uint64_t seed) {
  const ObjectiveOptions& w = o.objective;
  const std::optional<BankPlan>& bank = material.bank_plan();
  return {
      {"set of images", material.set().digest()},
      {"backbone", info.backbone_sha256},
      {"preprocessing", material.preprocessing()},
      {"number of classes", std::to_string(info.k())},
      {"seed", std::to_string(seed)},
      {"batch size", std::to_string(o.material.batch)},
      {"schedule",
       fmt::format("{} epochs, rate {}, hard labels {}, ramp {} {}, whole set {}",
                   o.schedule.epochs, o.schedule.rate, static_cast<int>(o.schedule.hard_labels),
                   o.schedule.ramp_epochs, o.schedule.ramp_as_published, o.hard_from_whole_set)},
      {"optimiser", fmt::format("momentum {}, decay {}", o.sgd.momentum, o.sgd.weight_decay)},
      {"objective",
       fmt::format("lambdas {} {} {}, temperatures {} {} {} {} {}, weights {} {} {} {}, scaled {}, "
                   "floor {}, prior {}",
                   w.lambda_sup, w.lambda_entropy, w.lambda_sep, w.tau_base, w.tau_sharp, w.tau_sep,
                   w.tau_unsup_con, w.tau_sup_con, w.weight_dapl, w.weight_sup, w.weight_unsup_con,
                   w.weight_sup_con, w.scale_regularisers, w.confidence_floor,
                   o.prior.empty() ? "uniform" : sha256_file(o.prior))},
      {"model",
       fmt::format("{} heads, head {} {} {}, blocks from {}", info.backbone_heads, info.head.hidden,
                   info.head.projection, info.head.wide_projection, info.first_trained_block)},
      {"choice of views", fmt::format("{}, borrowing {}",
                                      bank ? fmt::format("bank of {}, redrawn every {}",
                                                         bank->layout.views, bank->refresh)
                                           : "fresh",
                                      o.material.borrow)},
      {"dtype", std::string(element_name(element_type_of(material.placement().frozen)))}};
}

/// Float sums depend on these: a run resumed elsewhere goes on, but not to the same bits.
std::map<std::string, std::string> environment_of(const Placement& placement,
                                                  const Context& context) {
  return {{"device", placement.device.is_cuda() ? "cuda" : "cpu"},
          {"threads", std::to_string(context.threads)},
          {"cpu", cpu_capability()},
          {"torch", torch_version()},
          {"protogcd", kVersion}};
}

void make_deterministic() {
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/false);
  at::globalContext().setDeterministicCuDNN(true);
}

OpenRun how_to_open(const TrainOptions& options) {
  if (options.resume) return OpenRun::kResume;
  return options.overwrite ? OpenRun::kOverwrite : OpenRun::kNew;
}

/// The folder's first files; only now is it sure that the new run begins.
void begin_folder(RunFolder& folder, const TrainingMaterial& material, const TrainOptions& options,
                  const Context& context) {
  if (!options.resume) {
    folder.empty();
    const auto& bank = material.bank_plan();
    if (options.overwrite && bank && bank->home != BankHome::kFile)
      remove_folder(folder.path() / "bank");
    write_file_atomically(folder.config(), options.config);
  }
  const auto environment = environment_of(material.placement(), context);
  const fs::path run_file = folder.path() / "run.json";
  if (options.resume && fs::exists(run_file)) {
    const auto json =
        nlohmann::json::parse(read_text_file(run_file), nullptr, /*allow_exceptions=*/false);
    for (const auto& [key, value] : environment) {
      const std::string before = json.is_object() ? json.value(key, value) : value;
      if (before != value) {
        context.log.warning(fmt::format(
            "the run was begun with {} {}, now {}: it goes on, but not to the same bits", key,
            before, value));
      }
    }
  } else {
    write_file_atomically(run_file, nlohmann::json(environment).dump(2) + "\n");
  }
  const TrainingSet& set = material.set();
  if (set.skipped().count() > 0) set.skipped().write(folder.skipped(), set.sources());
}

class Trainer {
 public:
  /// All references must outlive it.
  Trainer(RunFolder& folder, TrainingMaterial& material, const Backbone& backbone, ModelInfo info,
          std::vector<double> prior, const TrainOptions& options, const Context& context)
      : options_(options),
        context_(context),
        folder_(folder),
        material_(material),
        backbone_(backbone),
        placement_(material.placement()),
        info_(std::move(info)),
        set_(material.set()),
        model_(backbone, info_, placement_, context.seed, material.trunk()),
        objective_(options.objective, info_.k(), std::move(prior), placement_.trained,
                   placement_.device),
        step_(model_.blocks(), model_.head(), objective_, options.sgd, alone_),
        sampler_(material.make_sampler(context.seed)),
        checkpoints_(folder_.checkpoints(), identity_of(options, info_, material, context.seed)),
        runner_(step_, material, sampler_, context.seed, options.schedule) {}

  TrainSummary run();

 private:
  void begin();
  void say_plan() const;
  void run_epoch(Progress& progress);
  void decide_hard_labels();
  void after_step(Progress& progress);
  void finish_epoch(Progress& progress, Clock::time_point start, std::int64_t steps);
  void save_checkpoint();
  void evaluate_all();
  at::Tensor calibrate_outliers_and_predict();
  void write_report_files(const at::Tensor& features);
  void write_features(const at::Tensor& after);
  Evaluation evaluate_on(SampleSet set);
  void write_scalars(const nlohmann::json& line);
  bool is_evaluated(std::int64_t epoch) const {
    return (epoch + 1) % options_.eval_every == 0 || epoch + 1 == options_.schedule.epochs;
  }

  const TrainOptions& options_;
  const Context& context_;
  RunFolder& folder_;
  TrainingMaterial& material_;
  const Backbone& backbone_;
  const Placement placement_;
  const ModelInfo info_;
  const TrainingSet& set_;
  Model model_;
  SingleProcess alone_;
  Objective objective_;
  TrainStep step_;
  Sampler sampler_;
  CheckpointStore checkpoints_;
  StepRunner runner_;
  std::optional<EventFile> events_;

  TrainingState state_;
  DeviceClock::Times gpu_times_;  ///< of all epochs of this process
  Clock::time_point last_checkpoint_ = Clock::now();
  std::optional<Evaluation> on_unlabelled_, on_test_;  ///< by the latest evaluation
  Predictions predictions_;  ///< of the unlabelled images, by the latest evaluation
};

/// The state of the run that is resumed, or a fresh one.
void Trainer::begin() {
  if (options_.resume) {
    if (auto found = checkpoints_.load(step_.parameters(), step_.optimiser(), context_.log)) {
      state_ = std::move(*found);
      context_.log.info(
          fmt::format("resuming at epoch {}, step {}", state_.epoch + 1, state_.step));
    } else {
      context_.log.info("no checkpoint was written yet: starting from the beginning");
    }
    folder_.keep_metrics_before(state_.epoch);
  }
  if (state_.epoch_sums.defined()) runner_.sums().copy_(state_.epoch_sums);
  events_.emplace(folder_.path(), state_.epoch);
}

void Trainer::say_plan() const {
  const std::size_t steps = sampler_.batches_per_epoch();
  context_.log.info(
      fmt::format("{} labelled, {} unlabelled and {} test images; {} old and {} new classes",
                  set_.count(SampleSet::kLabelled), set_.count(SampleSet::kUnlabelled),
                  set_.count(SampleSet::kTest), info_.old_classes, info_.k() - info_.old_classes));
  context_.log.info(fmt::format("{} epochs of {} steps of {} images on {}, {} in memory",
                                options_.schedule.epochs, steps, sampler_.batch_size(),
                                placement_.device.is_cuda() ? "the GPU" : "the CPU",
                                human_bytes(set_.cache().bytes())));
}

/// The paper's level 2: the most confident of all unlabelled images, by what the model says of
/// their centre views as the epoch begins. Labelled images keep soft labels.
void Trainer::decide_hard_labels() {
  const auto labelled = static_cast<std::int64_t>(set_.count(SampleSet::kLabelled));
  const auto unlabelled = static_cast<std::int64_t>(set_.count(SampleSet::kUnlabelled));
  std::vector<at::Tensor> parts;
  material_.tokens(SampleSet::kUnlabelled)
      .for_each(context_, [&](const TrunkTokens& tokens, std::size_t) {
        const at::Tensor sharpened =
            at::softmax(model_.cosines(tokens) / options_.objective.tau_sharp, 1);
        parts.push_back(prototype_confidence(sharpened, options_.objective.confidence_floor));
      });
  state_.hard = at::zeros({labelled + unlabelled}, at::kByte);
  if (parts.empty()) return;
  const at::Tensor order =
      at::cat(parts).to(at::kCPU).argsort(/*stable=*/true, 0, /*descending=*/true);
  const std::int64_t count = hard_count(options_.schedule, state_.epoch, unlabelled);
  state_.hard.index_fill_(0, order.narrow(0, 0, count) + labelled, 1);
}

void Trainer::save_checkpoint() {
  state_.epoch_sums = runner_.sums().to(at::kCPU);
  if (!state_.epoch_sums.isfinite().all().item<bool>()) {
    throw UsageError(
        fmt::format("training diverged in epoch {}: the loss is not a number", state_.epoch + 1),
        "try a lower --lr, or higher temperatures; the last checkpoint is from before");
  }
  checkpoints_.save(step_.parameters(), step_.optimiser(), state_);
  last_checkpoint_ = Clock::now();
}

/// `state_` names the next step when this is called.
void Trainer::after_step(Progress& progress) {
  progress.add();
  const bool stop = context_.interrupted();
  if (stop || seconds_since(last_checkpoint_) >= options_.checkpoint_seconds) save_checkpoint();
  if (stop) {
    throw InterruptedError(
        fmt::format("stopped at epoch {} of {}", state_.epoch + 1, options_.schedule.epochs),
        fmt::format("go on with: --out {} --resume", options_.out.string()));
  }
}

void Trainer::run_epoch(Progress& progress) {
  const auto start = Clock::now();
  const std::int64_t epoch = state_.epoch, first = state_.step;
  const auto steps = static_cast<std::int64_t>(sampler_.batches_per_epoch());
  if (options_.hard_from_whole_set && first == 0) decide_hard_labels();
  runner_.start_epoch(epoch, first, state_.hard);
  for (std::int64_t step = first; step < steps; ++step) {
    runner_.run();
    state_.step = step + 1;
    if (step + 1 < steps) after_step(progress);
  }
  finish_epoch(progress, start, steps);
}

void Trainer::finish_epoch(Progress& progress, Clock::time_point start, std::int64_t steps) {
  const std::int64_t epoch = state_.epoch;
  const DeviceClock::Times times = runner_.take_times();
  gpu_times_.waited += times.waited;
  gpu_times_.all += times.all;
  if (!runner_.sums().isfinite().all().item<bool>())
    save_checkpoint();  // says that training diverged
  const at::Tensor means =
      (runner_.sums() / static_cast<double>(std::max<std::int64_t>(steps, 1))).to(at::kCPU);
  nlohmann::json line = {{"epoch", epoch},
                         {"steps", steps},
                         {"learning_rate", learning_rate(options_.schedule, epoch)},
                         {"hard_ratio", hard_ratio(options_.schedule, epoch)}};
  for (std::int64_t i = 0; i < kStepValueCount; ++i) {
    line["train"][kStepValues[i]] = means.const_data_ptr<double>()[i];
  }
  if (is_evaluated(epoch)) {
    evaluate_all();
    line["unlabelled"] = to_json(*on_unlabelled_);
    line["test"] = on_test_ ? to_json(*on_test_) : nlohmann::json("none");
    progress.say(fmt::format("epoch {}/{}: loss {:.4f}, unlabelled images: {}", epoch + 1,
                             options_.schedule.epochs, means.const_data_ptr<double>()[0],
                             in_words(*on_unlabelled_)));
  }
  line["seconds"] = seconds_since(start);
  folder_.add_metrics(line);
  write_scalars(line);
  runner_.sums().zero_();
  state_ = {.epoch = epoch + 1, .step = 0, .epoch_sums = {}, .hard = {}};
  after_step(progress);
}

void Trainer::evaluate_all() {
  on_unlabelled_ = evaluate_on(SampleSet::kUnlabelled);
  if (set_.count(SampleSet::kTest) > 0) on_test_ = evaluate_on(SampleSet::kTest);
}

Evaluation Trainer::evaluate_on(SampleSet set) {
  Predictions predictions = predict_all(model_, material_.tokens(set), context_);
  const Evaluation evaluation = evaluate(predictions, truths_of(set_.of(set)), info_.old_classes);
  if (set == SampleSet::kUnlabelled) predictions_ = std::move(predictions);
  return evaluation;
}

/// The threshold comes from the unlabelled images: they are of old and new classes, and none of
/// them told its class.
/// Returns the features of the unlabelled images, if there are any.
at::Tensor Trainer::calibrate_outliers_and_predict() {
  if (set_.count(SampleSet::kUnlabelled) == 0) return {};
  const ModelOutputs outputs = outputs_of(model_, material_.tokens(SampleSet::kUnlabelled),
                                          "the unlabelled images", context_);
  model_.set_outliers(
      calibrate_outliers(info_, outputs.cosines, options_.outlier_score, options_.outlier_keep));
  predictions_ = {};
  predictions_.add(outputs.cosines, model_.info());
  predictions_.finish();
  return outputs.features;
}

/// Extras, after everything that the run is for: attention that cannot be had is no failure.
void Trainer::write_report_files(const at::Tensor& features) {
  if (!features.defined()) return;
  write_features(features);
  if (!options_.attention) return;
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
  material_.tokens(SampleSet::kUnlabelled)
      .for_each(context_, [&](const TrunkTokens& tokens, std::size_t) {
        const at::NoGradGuard no_grad;
        parts.push_back(unit_rows(untrained->forward(tokens)).to(at::kCPU, at::kHalf));
      });
  write_embeddings(folder_.embeddings(),
                   {.before = at::cat(parts),
                    .after = after,
                    .prototypes = unit_rows(
                        model_.head().named_parameters().at("prototype_layer.weight_v").detach()),
                    .truths = truths_of(set_.of(SampleSet::kUnlabelled)),
                    .classes = set_.dataset().classes});
}

void Trainer::write_scalars(const nlohmann::json& line) {
  std::vector<Scalar> scalars = {{"schedule/learning_rate", line.at("learning_rate")},
                                 {"schedule/hard_ratio", line.at("hard_ratio")}};
  for (const auto& [name, value] : line.at("train").items()) {
    const bool is_loss = name != "hard_share" && name != "marginal_old";
    scalars.push_back({(is_loss ? "loss/" : "train/") + name, value});
  }
  for (const char* set : {"unlabelled", "test"}) {
    if (!line.contains(set) || !line.at(set).is_object()) continue;
    for (const char* name :
         {"all", "old", "new", "nmi", "ari", "p_old", "p_new", "r_old", "r_new"}) {
      const auto value = line.at(set).at(name).get<double>();
      if (!std::isnan(value)) scalars.push_back({fmt::format("{}/{}", set, name), value});
    }
  }
  events_->write(line.at("epoch"), scalars);
}

TrainSummary Trainer::run() {
  const auto start = Clock::now();
  begin();
  say_plan();
  if (state_.epoch < options_.schedule.epochs) material_.prepare_bank(state_.epoch);
  const auto steps = static_cast<std::int64_t>(sampler_.batches_per_epoch());
  {
    const std::int64_t done = state_.epoch * steps + state_.step;
    Progress progress("train",
                      static_cast<std::uint64_t>(
                          std::max<std::int64_t>(options_.schedule.epochs * steps - done, 0)),
                      "steps", context_.progress());
    while (state_.epoch < options_.schedule.epochs) run_epoch(progress);
  }
  save_checkpoint();
  if (gpu_times_.all > 0) {
    context_.log.info(fmt::format("the GPU waited for {:.1f}% of the {} that steps took",
                                  100 * gpu_times_.waited / gpu_times_.all,
                                  human_seconds(gpu_times_.all)));
  }
  if (!on_unlabelled_) evaluate_all();  // a run that was resumed after its last epoch
  const at::Tensor features = calibrate_outliers_and_predict();

  TrainSummary summary{
      .k = info_.k(),
      .k_old = info_.old_classes,
      .labelled = set_.count(SampleSet::kLabelled),
      .unlabelled = set_.count(SampleSet::kUnlabelled),
      .test = set_.count(SampleSet::kTest),
      .skipped = set_.skipped().count(),
      .epochs = options_.schedule.epochs,
      .on_unlabelled = *on_unlabelled_,
      .on_test = on_test_,
      .classes = describe_classes(predictions_, info_, truths_of(set_.of(SampleSet::kUnlabelled)),
                                  set_.dataset().classes),
      .outliers = predictions_.outliers(model_.info())};
  PredictionWriter writer(folder_.predictions(), model_.info());
  CsvPaths paths(folder_.predictions());
  const auto samples = set_.of(SampleSet::kUnlabelled);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    writer.row(paths(set_.sources(), samples[i].source), predictions_, i);
  }
  writer.commit();
  model_.save(folder_.model());
  write_report_files(features);
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace

CandidateOptions candidate_of(const TrainOptions& options, const Backbone& backbone) {
  return {.head = {.width = backbone.config.width,
                   .classes = 1,
                   .hidden = options.head_hidden,
                   .projection = options.projection,
                   .wide_projection = options.wide_projection},
          .objective = options.objective,
          .schedule = options.schedule,
          .sgd = options.sgd};
}

namespace {

/// What an estimate depends on beside images and model.
std::string estimate_settings(const ClassNumberOptions& options, std::uint64_t seed) {
  const auto or_usual = [](const std::optional<std::int64_t>& number) {
    return number ? std::to_string(*number) : "as usual";
  };
  return fmt::format("rule {}, k_max {}, {} epochs, {} steps, cluster steps {}, {} seeds from {}",
                     options.rule == ClassNumberRule::kPaper ? "paper" : "clusters",
                     or_usual(options.k_max), options.epochs, options.min_steps,
                     or_usual(options.cluster_steps), options.seeds, seed);
}

ClassNumber stored_class_number(const fs::path& file, const std::string& settings) {
  try {
    const auto json = nlohmann::json::parse(read_text_file(file));
    if (const std::string before = json.at("settings"); before != settings) {
      throw UsageError(
          fmt::format("--resume: the number of classes was estimated with {}; now it "
                      "would be with {}",
                      before, settings));
    }
    return ClassNumber::from_json(json);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: {}", file.string(), error.what()),
                    "remove it to estimate the number of classes again");
  }
}

/// From the run's folder, if it was estimated before.
ClassNumber class_number_of(const RunFolder& folder, TrainingMaterial& material,
                            const Backbone& backbone, const TrainOptions& options,
                            const Context& context) {
  const std::string settings = estimate_settings(*options.estimate, context.seed);
  if (options.resume && fs::exists(folder.estimate()))
    return stored_class_number(folder.estimate(), settings);
  ClassNumberOptions how = *options.estimate;
  how.model = candidate_of(options, backbone);
  ClassNumber found;
  try {
    found = estimate_class_number(material, backbone, how, context);
  } catch (const InterruptedError& error) {
    throw InterruptedError(
        error.what(),
        fmt::format("begin the estimate again with: --out {} --resume", options.out.string()));
  }
  nlohmann::json json = found.to_json();
  json["settings"] = settings;
  write_file_atomically(folder.estimate(), json.dump(2) + "\n");
  context.log.info(found.in_words());
  return found;
}

}  // namespace

TrainSummary train(Dataset dataset, const Backbone& backbone, const TrainOptions& options,
                   const BadImagePolicy& policy, const Context& context) {
  set_compute_threads(context.threads);
  if (options.deterministic) make_deterministic();
  check_class_names(dataset.classes);
  if (options.material.grad_from_block)
    check_first_trained_block(backbone.config, *options.material.grad_from_block);
  const bool estimates = !options.k && options.estimate;
  std::optional<ModelInfo> info;
  std::vector<double> prior;
  if (!estimates)
    info = model_info(backbone, dataset, number_of_classes(options, dataset), options);
  if (!options.prior.empty()) {
    if (!info) throw UsageError("--prior names new classes: say with --k how many there are");
    prior = read_prior(options.prior, info->classes);
  }
  RunFolder folder(options.out, how_to_open(options));
  MaterialOptions needed = options.material;
  needed.sees_labelled = estimates;
  TrainingMaterial material(std::move(dataset), backbone, needed, folder.path(), policy, context);
  std::optional<ClassNumber> estimate;
  if (estimates) {
    check_class_number(material.set(), *options.estimate);
    begin_folder(folder, material, options, context);
    estimate = class_number_of(folder, material, backbone, options, context);
    info = model_info(backbone, material.set().dataset(), estimate->k, options);
  }
  Trainer trainer(folder, material, backbone, *info, std::move(prior), options, context);
  if (!estimates) begin_folder(folder, material, options, context);
  TrainSummary summary = trainer.run();
  summary.estimate = std::move(estimate);
  return summary;
}

}  // namespace protogcd
