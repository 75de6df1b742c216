#include "protogcd/gcd/trainer.h"

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
#include "protogcd/engine/bank_views.h"
#include "protogcd/engine/borrowed_views.h"
#include "protogcd/engine/view_source.h"
#include "protogcd/gcd/checkpoint.h"
#include "protogcd/gcd/run_folder.h"
#include "protogcd/gcd/train_step.h"
#include "protogcd/gcd/training_set.h"
#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// What is summed over an epoch's steps, and under which name its mean is reported.
constexpr const char* kStepValues[] = {"total",   "sup",        "dapl",
                                       "entropy", "separation", "unsup_con",
                                       "sup_con", "hard_share", "marginal_old"};
constexpr std::int64_t kStepValueCount = std::size(kStepValues);

at::Tensor step_values(const LossTerms& terms, std::int64_t old_classes) {
  return at::stack({terms.total, terms.sup, terms.dapl, terms.entropy, terms.separation,
                    terms.unsup_con, terms.sup_con, terms.hard_share,
                    terms.marginal.narrow(0, 0, old_classes).sum()})
      .to(at::kDouble);
}

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

ModelInfo model_info(const Backbone& backbone, const Dataset& dataset,
                     const TrainOptions& options) {
  const std::int64_t k = number_of_classes(options, dataset);
  check_class_names(dataset.classes);
  if (options.grad_from_block) check_first_trained_block(backbone.config, *options.grad_from_block);
  const std::vector<std::string> old(
      dataset.classes.begin(),
      dataset.classes.begin() + static_cast<std::ptrdiff_t>(dataset.old_classes));
  return {.classes = class_names(old, k),
          .old_classes = static_cast<std::int64_t>(dataset.old_classes),
          .head = {.width = backbone.config.width,
                   .classes = k,
                   .hidden = options.head_hidden,
                   .projection = options.projection,
                   .wide_projection = options.wide_projection},
          .first_trained_block = options.grad_from_block.value_or(backbone.config.depth - 1),
          .temperature = options.objective.tau_base,
          .preprocessing = backbone.preprocessing,
          .reading = options.reading,
          .tensors_sha256 = {},
          .backbone_file = backbone.is_builtin()
                               ? backbone.file.string()
                               : fs::absolute(backbone.file).lexically_normal().string(),
          .backbone_preset = backbone.preset,
          .backbone_sha256 = backbone_sha256(backbone.file),
          .backbone_heads = backbone.config.heads};
}

/// Everything a run's numbers depend on; the names are for people.
std::map<std::string, std::string> identity_of(const TrainOptions& o, const ModelInfo& info,
                                               const TrainingSet& set, const Placement& placement,
                                               const std::optional<BankPlan>& bank,
                                               std::uint64_t seed) {
  const ObjectiveOptions& w = o.objective;
  return {
      {"set of images", set.digest()},
      {"backbone", info.backbone_sha256},
      {"preprocessing",
       fmt::format("size {}, mean {}, std {}, upright {}, fast decoding {}",
                   info.preprocessing.size, fmt::join(info.preprocessing.mean, " "),
                   fmt::join(info.preprocessing.deviation, " "), info.reading.apply_orientation,
                   info.reading.fast_decode)},
      {"number of classes", std::to_string(info.k())},
      {"seed", std::to_string(seed)},
      {"batch size", std::to_string(o.batch)},
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
                                      o.borrow)},
      {"dtype", std::string(element_name(element_type_of(placement.frozen)))}};
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

class Trainer {
 public:
  Trainer(Dataset dataset, const Backbone& backbone, const TrainOptions& options,
          const BadImagePolicy& policy, const Context& context)
      : options_(options),
        context_(context),
        placement_(place(context)),
        info_(model_info(backbone, dataset, options)),
        prior_(options.prior.empty() ? std::vector<double>{}
                                     : read_prior(options.prior, info_.classes)),
        loader_(loader_options(info_.preprocessing, info_.reading, placement_.trunk_batch(),
                               context.threads, placement_.device)),
        cache_bytes_(cache_bytes()),
        folder_(options.out, how_to_open()),
        set_(std::move(dataset), loader_, cache_bytes_ / 2, policy, context),
        model_(backbone, info_, placement_, context.seed),
        objective_(options.objective, info_.k(), prior_, placement_.trained, placement_.device),
        step_(model_.blocks(), model_.head(), objective_, options.sgd, alone_),
        sampler_(set_.count(SampleSet::kLabelled), set_.count(SampleSet::kUnlabelled), context.seed,
                 static_cast<std::size_t>(options.batch)),
        bank_plan_(plan_of_bank(backbone.config)),
        checkpoints_(folder_.checkpoints(),
                     identity_of(options, info_, set_, placement_, bank_plan_, context.seed)) {
    if (set_.train().empty()) throw DataError("no readable images to train on");
    loader_.cache = &set_.cache();
    const std::uint64_t bank_bytes =
        bank_plan_ && bank_plan_->home == BankHome::kDevice ? bank_plan_->layout.bytes() : 0;
    const std::uint64_t tokens_bytes = placement_.device.is_cuda()
                                           ? less(free_memory(placement_.device), bank_bytes) / 3
                                           : cache_bytes_ / 2;
    unlabelled_.emplace(set_.sources(), sources_of(set_.of(SampleSet::kUnlabelled)), model_.trunk(),
                        loader_, share_of(SampleSet::kUnlabelled, tokens_bytes));
    test_.emplace(set_.sources(), sources_of(set_.of(SampleSet::kTest)), model_.trunk(), loader_,
                  share_of(SampleSet::kTest, tokens_bytes));
    if (bank_plan_) make_bank();
    views_ = make_views();
    if (options.borrow > 0) {
      views_ =
          std::make_unique<BorrowedViews>(std::move(views_), sampler_, options.borrow,
                                          backbone.config.epsilon, context.seed, placement_.device);
    }
  }

  TrainSummary run();

 private:
  OpenRun how_to_open() const {
    if (options_.resume) return OpenRun::kResume;
    return options_.overwrite ? OpenRun::kOverwrite : OpenRun::kNew;
  }

  std::uint64_t cache_bytes() const {
    if (options_.cache_gb) return static_cast<std::uint64_t>(*options_.cache_gb * 1e9);
    return free_memory(at::kCPU) / 2;
  }

  std::optional<BankPlan> plan_of_bank(const VitConfig& config) const;
  void make_bank();
  std::unique_ptr<ViewSource> make_views();
  static std::uint64_t less(std::uint64_t bytes, std::uint64_t taken) {
    return bytes > taken ? bytes - taken : 0;
  }
  /// Of memory for tokens, by the number of images.
  std::uint64_t share_of(SampleSet set, std::uint64_t bytes) const {
    const auto all =
        static_cast<double>(set_.count(SampleSet::kUnlabelled) + set_.count(SampleSet::kTest));
    return all == 0 ? 0
                    : static_cast<std::uint64_t>(static_cast<double>(bytes) *
                                                 static_cast<double>(set_.count(set)) / all);
  }

  void begin();
  void say_plan() const;
  void run_epoch(Progress& progress);
  StepBatch batch_of(std::int64_t step) const;
  void decide_hard_labels();
  void after_step(Progress& progress);
  void finish_epoch(Progress& progress, Clock::time_point start, std::int64_t steps);
  void save_checkpoint();
  void evaluate_all();
  Evaluation evaluate_on(SampleSet set);
  void write_scalars(const nlohmann::json& line);
  bool is_evaluated(std::int64_t epoch) const {
    return (epoch + 1) % options_.eval_every == 0 || epoch + 1 == options_.schedule.epochs;
  }

  const TrainOptions& options_;
  const Context& context_;
  Placement placement_;
  ModelInfo info_;
  std::vector<double> prior_;
  LoaderOptions loader_;
  std::uint64_t cache_bytes_;
  RunFolder folder_;
  TrainingSet set_;
  Model model_;
  SingleProcess alone_;
  Objective objective_;
  TrainStep step_;
  Sampler sampler_;
  std::optional<BankPlan> bank_plan_;
  CheckpointStore checkpoints_;
  std::optional<EvaluationTokens> unlabelled_, test_;
  std::unique_ptr<TokenBank> bank_;
  std::unique_ptr<ViewSource> views_;
  std::optional<EventFile> events_;

  TrainingState state_;
  at::Tensor sums_;  ///< [kStepValueCount] float64 on the device
  Clock::time_point last_checkpoint_ = Clock::now();
  std::optional<Evaluation> on_unlabelled_, on_test_;  ///< by the latest evaluation
  Predictions predictions_;  ///< of the unlabelled images, by the latest evaluation
};

std::optional<BankPlan> Trainer::plan_of_bank(const VitConfig& config) const {
  if (!options_.use_bank) return std::nullopt;
  BankOptions bank = options_.bank;
  if (bank.folder.empty()) bank.folder = folder_.path() / "bank";
  BankLayout layout{.images = static_cast<std::int64_t>(set_.train().size()),
                    .tokens = config.token_count(info_.preprocessing.size),
                    .width = config.width,
                    .type = placement_.frozen,
                    .with_class_token = info_.first_trained_block + 1 == config.depth};
  return plan_bank(bank, layout, placement_.device);
}

/// The tokens are computed when the first epoch begins: stopped before, the run can go on.
void Trainer::make_bank() {
  const BankPlan& plan = *bank_plan_;
  if (plan.layout.views < plan.views_asked) {
    context_.log.warning(fmt::format(
        "--bank-max: {} views instead of {}, {}", plan.layout.views, plan.views_asked,
        plan.exceeds_limit
            ? fmt::format("the least there can be; they take {}", human_bytes(plan.layout.bytes()))
            : "as more do not fit"));
  }
  if (options_.overwrite && plan.home != BankHome::kFile) remove_folder(folder_.path() / "bank");
  const auto identity = identity_of(options_, info_, set_, placement_, bank_plan_, context_.seed);
  const std::map<std::string, std::string> depends_on = {
      {"backbone", fmt::format("{}, {} heads, blocks before {}", info_.backbone_sha256,
                               info_.backbone_heads, info_.first_trained_block)},
      {"preprocessing", identity.at("preprocessing")}};
  bank_ = std::make_unique<TokenBank>(plan, set_.sources(), sources_of(set_.train()),
                                      model_.trunk(), loader_, depends_on, context_);
}

std::unique_ptr<ViewSource> Trainer::make_views() {
  if (bank_) return std::make_unique<BankViews>(*bank_, sampler_, context_.seed, placement_.device);
  return std::make_unique<FreshViews>(set_.sources(), sources_of(set_.train()), sampler_,
                                      model_.trunk(), loader_, placement_.trunk_batch(),
                                      context_.seed);
}

/// The folder's first files, or the state of the run that is resumed.
void Trainer::begin() {
  if (!options_.resume) {
    folder_.empty();  // only now is it sure that the new run begins
    write_file_atomically(folder_.config(), options_.config);
  }
  const auto environment = environment_of(placement_, context_);
  const fs::path run_file = folder_.path() / "run.json";
  if (options_.resume && fs::exists(run_file)) {
    const auto json =
        nlohmann::json::parse(read_text_file(run_file), nullptr, /*allow_exceptions=*/false);
    for (const auto& [key, value] : environment) {
      const std::string before = json.is_object() ? json.value(key, value) : value;
      if (before != value) {
        context_.log.warning(fmt::format(
            "the run was begun with {} {}, now {}: it goes on, but not to the same bits", key,
            before, value));
      }
    }
  } else {
    write_file_atomically(run_file, nlohmann::json(environment).dump(2) + "\n");
  }
  if (set_.skipped().count() > 0) set_.skipped().write(folder_.skipped(), set_.sources());

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
  sums_ = state_.epoch_sums.defined()
              ? state_.epoch_sums.to(placement_.device)
              : at::zeros({kStepValueCount}, at::device(placement_.device).dtype(at::kDouble));
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

/// Labels of the images that a step draws: [B] each, on the device.
StepBatch Trainer::batch_of(std::int64_t step) const {
  const auto batch = static_cast<std::int64_t>(sampler_.batch_size());
  const bool decided = state_.hard.defined();
  at::Tensor labels = at::empty({batch}, at::kLong), labelled = at::empty({batch}, at::kFloat),
             hard = decided ? at::empty({batch}, at::kFloat) : at::Tensor();
  for (std::int64_t i = 0; i < batch; ++i) {
    const std::size_t drawn = sampler_.draw(static_cast<std::uint32_t>(state_.epoch),
                                            static_cast<std::uint64_t>(step * batch + i));
    const Sample& sample = set_.train()[drawn];
    labels.data_ptr<std::int64_t>()[i] = std::max(sample.label, 0);
    labelled.data_ptr<float>()[i] = sampler_.is_labelled(drawn) ? 1 : 0;
    if (decided) hard.data_ptr<float>()[i] = state_.hard.const_data_ptr<std::uint8_t>()[drawn];
  }
  const auto there = [&](const at::Tensor& tensor, at::ScalarType type) {
    return tensor.defined() ? tensor.to(placement_.device, type) : tensor;
  };
  return {there(labels, at::kLong), there(labelled, placement_.trained),
          there(hard, placement_.trained)};
}

/// The paper's level 2: the most confident of all unlabelled images, by what the model says of
/// their centre views as the epoch begins. Labelled images keep soft labels.
void Trainer::decide_hard_labels() {
  const auto labelled = static_cast<std::int64_t>(set_.count(SampleSet::kLabelled));
  const auto unlabelled = static_cast<std::int64_t>(set_.count(SampleSet::kUnlabelled));
  std::vector<at::Tensor> parts;
  unlabelled_->for_each(context_, [&](const TrunkTokens& tokens, std::size_t) {
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
  state_.epoch_sums = sums_.to(at::kCPU);
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
  const auto on_device = at::device(placement_.device);
  const StepSchedule schedule{
      .rate = at::scalar_tensor(learning_rate(options_.schedule, epoch),
                                on_device.dtype(placement_.trained)),
      .hard_count = at::scalar_tensor(
          hard_count(options_.schedule, epoch, static_cast<std::int64_t>(sampler_.batch_size())),
          on_device.dtype(at::kLong))};
  if (first < steps)
    views_->start_epoch(static_cast<std::uint32_t>(epoch), static_cast<std::size_t>(first));
  for (std::int64_t step = first; step < steps; ++step) {
    const LossTerms terms = step_.run(views_->next(), batch_of(step), schedule);
    sums_ += step_values(terms, info_.old_classes);
    state_.step = step + 1;
    if (step + 1 < steps) after_step(progress);
  }
  finish_epoch(progress, start, steps);
}

void Trainer::finish_epoch(Progress& progress, Clock::time_point start, std::int64_t steps) {
  const std::int64_t epoch = state_.epoch;
  if (!sums_.isfinite().all().item<bool>()) save_checkpoint();  // says that training diverged
  const at::Tensor means =
      (sums_ / static_cast<double>(std::max<std::int64_t>(steps, 1))).to(at::kCPU);
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
  sums_.zero_();
  state_ = {.epoch = epoch + 1, .step = 0, .epoch_sums = {}, .hard = {}};
  after_step(progress);
}

void Trainer::evaluate_all() {
  on_unlabelled_ = evaluate_on(SampleSet::kUnlabelled);
  if (test_->size() > 0) on_test_ = evaluate_on(SampleSet::kTest);
}

Evaluation Trainer::evaluate_on(SampleSet set) {
  EvaluationTokens& tokens = set == SampleSet::kTest ? *test_ : *unlabelled_;
  Predictions predictions = predict_all(model_, tokens, context_);
  const Evaluation evaluation = evaluate(predictions, truths_of(set_.of(set)), info_.old_classes);
  if (set == SampleSet::kUnlabelled) predictions_ = std::move(predictions);
  return evaluation;
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
  if (bank_ && state_.epoch < options_.schedule.epochs)
    bank_->prepare(static_cast<std::uint32_t>(state_.epoch));
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
  if (!on_unlabelled_) evaluate_all();  // a run that was resumed after its last epoch

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
                                  set_.dataset().classes)};
  PredictionWriter writer(folder_.predictions(), info_);
  CsvPaths paths(folder_.predictions());
  const auto samples = set_.of(SampleSet::kUnlabelled);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    writer.row(paths(set_.sources(), samples[i].source), predictions_, i);
  }
  writer.commit();
  model_.save(folder_.model());
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace

TrainSummary train(Dataset dataset, const Backbone& backbone, const TrainOptions& options,
                   const BadImagePolicy& policy, const Context& context) {
  set_compute_threads(context.threads);
  if (options.deterministic) make_deterministic();
  Trainer trainer(std::move(dataset), backbone, options, policy, context);
  return trainer.run();
}

}  // namespace protogcd
