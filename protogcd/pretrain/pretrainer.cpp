#include "protogcd/pretrain/pretrainer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <tuple>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/json_lines.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/device.h"
#include "protogcd/pretrain/knn.h"
#include "protogcd/pretrain/pixel_set.h"
#include "protogcd/pretrain/pretrain_state.h"
#include "protogcd/pretrain/pretrain_step.h"
#include "protogcd/pretrain/schedule.h"
#include "protogcd/pretrain/step_draws.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr const char* kMetricsEnding = ".metrics.jsonl";

fs::path beside(const fs::path& out, const char* ending) {
  return fs::path(out.string() + ending);
}

VitConfig config_of(const PretrainOptions& options) {
  const auto& [size, patch, width] = std::tie(options.size, options.patch, options.width);
  if (size % patch != 0) {
    throw UsageError(
        fmt::format("{}: {} is no multiple of the patch size {}", option_name("size"), size, patch),
        fmt::format("try {}", (size / patch + 1) * patch));
  }
  const std::int64_t heads = options.heads.value_or(std::max<std::int64_t>(width / 64, 1));
  if (width % heads != 0) {
    throw UsageError(fmt::format("{}: {} channels cannot be divided among {} heads",
                                 option_name("width"), width, heads),
                     fmt::format("give another {}", option_name("heads")));
  }
  return {.patch = patch,
          .width = width,
          .depth = options.depth,
          .heads = heads,
          .hidden = 4 * width,
          .grid = size / patch};
}

/// Refuses to lose a backbone or an unfinished training; says what can be done instead.
void check_files(const PretrainOptions& options) {
  const fs::path state = beside(options.out, ".state");
  const bool unfinished = fs::exists(state);
  if (options.resume) {
    if (unfinished) return;
    throw UsageError(fmt::format("{}: there is no unfinished training, '{}'", option_name("resume"),
                                 state.string()),
                     fmt::format("leave out {} to start one", option_name("resume")));
  }
  check_output_file(options.out, options.overwrite, "out");
  if (unfinished && !options.overwrite) {
    throw UsageError(
        fmt::format("{}: '{}' is an unfinished training", option_name("out"), state.string()),
        fmt::format("add {} to go on with it, or {} to start anew", option_name("resume"),
                    option_name("overwrite")));
  }
  check_output_file(beside(options.out, kMetricsEnding), options.overwrite, "out");
}

PixelSet load_training_set(const Dataset& dataset, const PretrainOptions& options,
                           at::Device device, const BadImagePolicy& policy,
                           const Context& context) {
  if (dataset.classes.size() < 2) {
    throw DataError(fmt::format("{}: {} class, pre-training tells classes apart",
                                option_name("labelled"), dataset.classes.size()),
                    "a class is a folder of images below it; at least two are needed");
  }
  PixelSet set =
      load_pixels(dataset, options.size, {.apply_orientation = options.apply_orientation}, device,
                  policy, context);
  if (set.size() == 0)
    throw DataError(option_name("labelled") + ": no readable images to train on");
  return set;
}

class Pretrainer {
 public:
  Pretrainer(const Dataset& labelled, const Dataset& monitor, const PretrainOptions& options,
             const BadImagePolicy& policy, const Context& context)
      : options_(options),
        context_(context),
        placement_(place(context)),
        config_(config_of(options)),
        pixels_{.size = options.size},
        set_(load_training_set(labelled, options, placement_.device, policy, context)),
        views_(options.augment, pixels_, placement_.trained, placement_.device),
        network_(config_, placement_, options.drop_path, context.seed),
        method_(std::make_unique<Classification>(config_.width, set_.classes,
                                                 options.classification, placement_, context.seed)),
        train_step_(network_, *method_, options.adamw),
        draws_({.images = set_.size(),
                .batch = options.batch,
                .views = method_->views(),
                .numbers = kAugmentNumbers + network_.drop_numbers(),
                .seed = context.seed,
                .device = placement_.device}),
        state_(beside(options.out, ".state"), identity()),
        sums_(at::zeros({3}, at::device(placement_.device).dtype(at::kDouble))) {
    if (monitor.samples.empty()) return;
    monitor_ = load_pixels(monitor, options.size, {.apply_orientation = options.apply_orientation},
                           placement_.device, policy, context);
  }

  PretrainSummary run();

 private:
  std::map<std::string, std::string> identity() const;
  WarmupSchedule schedule() const {
    return {.rate = options_.rate,
            .steps = options_.steps,
            .warmup = options_.warmup.value_or(options_.steps / 20)};
  }
  fs::path metrics() const { return beside(options_.out, kMetricsEnding); }

  void begin();
  void run_step(std::int64_t step);
  void after_step(Progress& progress);
  void report(Progress& progress);
  double monitor_accuracy() const;
  void save_state();
  void check_finite(const at::Tensor& sums) const;

  const PretrainOptions& options_;
  const Context& context_;
  Placement placement_;
  VitConfig config_;
  Preprocessing pixels_;
  PixelSet set_;
  std::optional<PixelSet> monitor_;
  ViewMaker views_;
  PretrainNetwork network_;
  std::unique_ptr<PretrainMethod> method_;
  PretrainStep train_step_;
  StepDraws draws_;
  PretrainState state_;

  std::int64_t step_ = 0;  ///< the next one to do
  at::Tensor sums_;  ///< [3] float64 on the device, since the last report: loss, accuracy, steps
  Clock::time_point last_state_ = Clock::now(), last_report_ = Clock::now();
  std::int64_t reported_step_ = 0;  ///< that rates are measured from
  PretrainSummary summary_;
};

/// Everything the weights depend on; the names are for people.
std::map<std::string, std::string> Pretrainer::identity() const {
  const WarmupSchedule plan = schedule();
  const AdamWOptions& adamw = options_.adamw;
  return {
      {"set of images", set_.digest},
      {"method", fmt::format("{}: {}", method_->name(), method_->settings())},
      {"network", fmt::format("depth {}, width {}, patch {}, size {}, {} heads", config_.depth,
                              config_.width, config_.patch, options_.size, config_.heads)},
      {"schedule",
       fmt::format("{} steps, warm-up {}, rate {}", plan.steps, plan.warmup, plan.rate)},
      {"batch size", std::to_string(options_.batch)},
      {"optimiser", fmt::format("betas {} {}, epsilon {}, decay {}, clip {}", adamw.beta1,
                                adamw.beta2, adamw.epsilon, adamw.weight_decay, adamw.clip_norm)},
      {"augmentation", augment_names()[static_cast<std::size_t>(options_.augment)]},
      {"drop path", fmt::format("{}", options_.drop_path)},
      {"seed", std::to_string(context_.seed)},
      {"report", std::to_string(options_.report_every)},
      {"dtype", placement_.arithmetic()}};
}

void Pretrainer::begin() {
  if (options_.resume) {
    step_ = state_.load(sums_, train_step_.parameters(), train_step_.optimiser());
    context_.log.info(fmt::format("resuming at step {}", step_));
  } else {
    fs::remove(beside(options_.out, ".state"));
  }
  keep_json_lines_before(metrics(), "step", options_.resume ? step_ + 1 : 0);
  reported_step_ = step_;
  context_.log.info(fmt::format(
      "{} images of {} classes; {} of {} blocks, {:.1f} M parameters; {} steps of {} images on {}",
      set_.size(), set_.classes, method_->name(), config_.depth,
      static_cast<double>(train_step_.parameters().values().numel()) / 1e6, options_.steps,
      options_.batch, placement_.device.is_cuda() ? "the GPU" : "the CPU"));
}

/// Reads nothing back from the device.
void Pretrainer::run_step(std::int64_t step) {
  const StepDraw draw = draws_.at(step);
  const std::int64_t views = method_->views();
  const at::Tensor rows = views == 1 ? draw.rows : draw.rows.repeat({views});
  const PretrainBatch batch{
      .images = views_.augmented(set_.pixels.index_select(0, rows), draw.numbers),
      .numbers = draw.numbers.slice(1, kAugmentNumbers),
      .labels = set_.labels.index_select(0, draw.rows)};
  const PretrainLoss result =
      train_step_.run(batch, at::scalar_tensor(learning_rate(schedule(), step),
                                               at::device(placement_.device).dtype(at::kFloat)));
  sums_ +=
      at::stack({result.loss, result.accuracy, at::ones_like(result.accuracy)}).to(at::kDouble);
}

double Pretrainer::monitor_accuracy() const {
  constexpr std::int64_t kImagesAtOnce = 512;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> features;
  for (const at::Tensor& pixels : monitor_->pixels.split(kImagesAtOnce))
    features.push_back(network_.features(views_.plain(pixels)));
  return knn_accuracy(at::cat(features), monitor_->labels, options_.neighbours);
}

void Pretrainer::check_finite(const at::Tensor& sums) const {
  if (sums.isfinite().all().item<bool>()) return;
  throw UsageError(
      fmt::format("training diverged before step {}: the loss is not a number", step_),
      fmt::format("try a lower {} or a longer {}", option_name("lr"), option_name("warmup")));
}

void Pretrainer::report(Progress& progress) {
  const at::Tensor sums = sums_.to(at::kCPU);
  check_finite(sums);
  const double* values = sums.const_data_ptr<double>();
  const double seconds = std::max(seconds_since(last_report_), 1e-9);
  summary_.loss = values[0] / values[2];
  summary_.accuracy = values[1] / values[2];
  nlohmann::json line = {
      {"step", step_},
      {"loss", summary_.loss},
      {"accuracy", summary_.accuracy},
      {"learning_rate", learning_rate(schedule(), step_ - 1)},
      {"images_per_second",
       static_cast<double>((step_ - reported_step_) * options_.batch) / seconds}};
  const bool last = step_ == options_.steps;
  if (monitor_ && (step_ % options_.monitor_every == 0 || last)) {
    summary_.knn = monitor_accuracy();
    line["knn"] = *summary_.knn;
  }
  if (step_ % options_.monitor_every == 0 || last) {
    progress.say(fmt::format(
        "step {}/{}: loss {:.3f}, accuracy {:.1f}%{}", step_, options_.steps, summary_.loss,
        100 * summary_.accuracy,
        line.contains("knn") ? fmt::format(", k-NN {:.1f}%", 100 * *summary_.knn) : ""));
  }
  append_line(metrics(), line.dump());
  sums_.zero_();
  reported_step_ = step_;
  last_report_ = Clock::now();
}

void Pretrainer::save_state() {
  check_finite(sums_);
  state_.save(step_, sums_, train_step_.parameters(), train_step_.optimiser());
  last_state_ = Clock::now();
}

/// `step_` names the next step when this is called.
void Pretrainer::after_step(Progress& progress) {
  progress.add();
  if (step_ % options_.report_every == 0 || step_ % options_.monitor_every == 0 ||
      step_ == options_.steps) {
    report(progress);
  }
  const bool stop = context_.interrupted() && step_ < options_.steps;
  if (stop || seconds_since(last_state_) >= options_.checkpoint_seconds) save_state();
  if (stop) {
    throw InterruptedError(
        fmt::format("stopped at step {} of {}", step_, options_.steps),
        fmt::format("go on with the same command and {}: its state is '{}'", option_name("resume"),
                    beside(options_.out, ".state").string()));
  }
}

PretrainSummary Pretrainer::run() {
  begin();
  const auto start = Clock::now();
  const std::int64_t first = step_;
  {
    Progress progress("pretrain", static_cast<std::uint64_t>(options_.steps - first), "steps",
                      context_.progress());
    last_report_ = last_state_ = Clock::now();
    while (step_ < options_.steps) {
      run_step(step_++);
      after_step(progress);
    }
  }
  save_backbone(options_.out, network_.vit(), pixels_, options_.weights_type);
  fs::remove(beside(options_.out, ".state"));
  if (monitor_ && !summary_.knn) summary_.knn = monitor_accuracy();
  summary_.images = set_.size();
  summary_.classes = set_.classes;
  summary_.steps = options_.steps;
  summary_.parameters = train_step_.parameters().values().numel();
  summary_.skipped = set_.skipped + (monitor_ ? monitor_->skipped : 0);
  summary_.seconds = seconds_since(start);
  summary_.images_per_second =
      static_cast<double>((options_.steps - first) * options_.batch) / summary_.seconds;
  return summary_;
}

}  // namespace

PretrainSummary pretrain(const Dataset& labelled, const Dataset& monitor,
                         const PretrainOptions& options, const BadImagePolicy& policy,
                         const Context& context) {
  const ComputeSettings settings(context);
  check_files(options);
  Pretrainer pretrainer(labelled, monitor, options, policy, context);
  return pretrainer.run();
}

}  // namespace protogcd
