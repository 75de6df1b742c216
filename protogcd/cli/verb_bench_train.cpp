// `protogcd bench train`: a training step on a token bank, beside the same step without one, eager
// PyTorch and the machine's matrix product, all in one call.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>

#include "protogcd/cli/bench_table.h"
#include "protogcd/cli/method_options.h"
#include "protogcd/cli/operation_counts.h"
#include "protogcd/cli/python_process.h"
#include "protogcd/cli/torch_step_script.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/engine/bank_views.h"
#include "protogcd/engine/captured_work.h"
#include "protogcd/engine/placement.h"
#include "protogcd/engine/tail.h"
#include "protogcd/model/model.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/random_state.h"
#include "protogcd/training/train_step.h"
#include "protogcd/training/training_material.h"

namespace protogcd::cli {
namespace {

struct BenchTrainOptions {
  std::string backbone = "dino-vits16";
  MethodChoice method;
  std::int64_t batch = 128, classes = 100, images = 1024;
  std::int64_t runs = 5, steps = 5;
  bool no_full = false;
  std::string python;
  std::filesystem::path csv;
  bool overwrite = false;
};

/// The last block as it is written in textbooks: every token, through autograd.
class FullBlock : public TrainedBlocks {
 public:
  FullBlock(const Vit& vit, at::ScalarType type, at::Device device)
      : type_(type), vit_(vit), last_(vit.config().depth - 1) {
    VitWeights kept;
    kept.blocks.resize(vit.weights().blocks.size());
    kept.blocks.back() = copied(vit.weights().blocks.back(), type, device);
    kept.norm = copied(vit.weights().norm, type, device);
    vit_.weights() = std::move(kept);
  }

  at::Tensor forward(const TrunkTokens& tokens) const override {
    return vit_.final_norm(vit_.block(last_, tokens.raw.to(type_))).select(1, 0);
  }
  std::map<std::string, at::Tensor> named_parameters() const override {
    return named_tensors(vit_.weights().blocks.back(), vit_.config(), last_);
  }
  std::unique_ptr<TrainedBlocks> copy() const override {
    return std::make_unique<FullBlock>(vit_, type_, vit_.weights().norm.weight.device());
  }

 private:
  at::ScalarType type_;
  Vit vit_;
  std::int64_t last_;
};

/// The trunk of a model hands out raw tokens where more than its last block is trained: here, of a
/// model that is one block deeper.
Trunk raw_trunk(VitConfig config, at::ScalarType type, at::Device device) {
  const std::int64_t blocks = config.depth - 1;
  ++config.depth;
  return {Vit(config, random_vit_state(config, at::kFloat, 0.02)), type, device, blocks};
}

class TrainBenchmark {
 public:
  TrainBenchmark(const BenchTrainOptions& options, Session& session);
  void run();
  std::vector<std::vector<std::string>> rows() const;

 private:
  struct Measured {
    std::string name;
    std::function<double()> milliseconds;  ///< of one step
    std::vector<double> values = {};
    double operations = 0;
    bool is_trunk = false;  ///< most of its work is in the trunk's type
  };

  /// Mean over `count` calls; the result is read back so that a device has finished.
  template <class Function>
  static double time(std::int64_t count, const Function& function) {
    const auto start = std::chrono::steady_clock::now();
    at::Tensor result;
    for (std::int64_t i = 0; i < count; ++i) result = function();
    result.flatten().slice(0, 0, 1).to(at::kCPU);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(count);
  }

  void add_bank_step();
  void add_parts();
  void add_fresh_step();
  void add_full_step();
  void add_python_step();
  using Views = std::vector<std::unique_ptr<ViewSource>>;  ///< one for each stream

  void advance(ViewSource& views);
  TrunkTokens next_tokens();
  at::Tensor run_step(const Views& views, CapturedWork& captured);
  std::int64_t rows_of(std::size_t stream) const {
    return streams_[stream].views * static_cast<std::int64_t>(samplers_[stream].batch_size());
  }
  double rows_of_step() const;
  std::unique_ptr<Method> make_method() const;
  double operations_of(const Method& method) const;

  const BenchTrainOptions& options_;
  Session& session_;
  Placement placement_;
  VitConfig config_;
  std::int64_t size_, tokens_;
  Vit vit_;
  SingleProcess alone_;
  std::unique_ptr<TrainedBlocks> tail_, full_;
  std::unique_ptr<Method> method_, full_method_;
  std::unique_ptr<TrainStep> step_, full_step_;
  std::unique_ptr<BankStore> bank_;
  Sampler sampler_;                   ///< of the first stream
  std::vector<BatchStream> streams_;  ///< of the method
  std::vector<Sampler> samplers_;     ///< one for each stream
  Views views_, fresh_views_;
  CapturedWork captured_, fresh_captured_;
  std::map<const ViewSource*, std::size_t> left_;  ///< steps of their epochs
  std::uint32_t epoch_ = 0;
  std::unique_ptr<ImageWindows> windows_;
  std::optional<Trunk> fresh_trunk_;
  std::optional<Trunk> trunk_;
  std::unique_ptr<PythonProcess> python_;
  std::vector<StepBatch> batches_;
  EpochScalar rate_;
  std::vector<Measured> measured_;
  std::vector<double> roofs_, trunk_roofs_;  ///< milliseconds of a large product, in both types
};

VitConfig config_of(const std::string& name) {
  if (const VitPreset* preset = find_vit_preset(name)) return preset->config;
  throw UsageError(fmt::format("--backbone: '{}' is no preset", name),
                   "speed does not depend on weights: name the preset of the model");
}

TrainBenchmark::TrainBenchmark(const BenchTrainOptions& options, Session& session)
    : options_(options),
      session_(session),
      placement_(place(session.context)),
      config_(config_of(options.backbone)),
      size_(config_.grid * config_.patch),
      tokens_(config_.token_count(size_)),
      vit_(config_, random_vit_state(config_, at::kFloat, 0.02)),
      sampler_(static_cast<std::size_t>(options.images / 2),
               static_cast<std::size_t>(options.images - options.images / 2), 0,
               static_cast<std::size_t>(options.batch)),
      captured_(placement_.device),
      fresh_captured_(placement_.device),
      rate_(placement_.trained, placement_.device) {
  const auto on_device = at::device(placement_.device).dtype(at::kLong);
  method_ = make_method();
  streams_ = method_->streams();
  for (const BatchStream& stream : streams_) {
    samplers_.push_back(
        stream_sampler(stream,
                       {.labelled = static_cast<std::size_t>(options.images / 2),
                        .images = static_cast<std::size_t>(options.images),
                        .batch = static_cast<std::size_t>(options.batch),
                        .batches = samplers_.empty() ? 0 : sampler_.batches_per_epoch()},
                       samplers_.size()));
    const at::Tensor rows =
        at::arange(static_cast<std::int64_t>(samplers_.back().batch_size()), on_device);
    batches_.push_back({.labels = rows % options.classes,
                        .labelled = (rows % 2).to(placement_.trained),
                        .places = rows});
  }
  rate_.set(0.01);
  add_bank_step();
  add_parts();
  const bool sees_strong = std::ranges::any_of(streams_, [](const BatchStream& stream) {
    return stream.strength == ViewStrength::kStrong;  // which a GPU does not make
  });
  if (placement_.device.is_cuda() && !sees_strong) add_fresh_step();
  if (!options.no_full) add_full_step();
  if (!options.python.empty()) add_python_step();
}

void TrainBenchmark::advance(ViewSource& views) {
  std::size_t& left = left_[&views];
  if (left == 0) {
    views.start_epoch(epoch_++, 0);
    left = sampler_.batches_per_epoch();
  }
  --left;
  views.advance();
}

TrunkTokens TrainBenchmark::next_tokens() {
  advance(*views_[0]);
  return views_[0]->tokens();
}

at::Tensor TrainBenchmark::run_step(const Views& views, CapturedWork& captured) {
  for (const auto& stream : views) advance(*stream);
  captured.run([&] {
    for (std::size_t i = 0; i < views.size(); ++i) batches_[i].tokens = views[i]->tokens();
    step_->run(batches_, *rate_);
  });
  return step_->parameters().values();
}

void TrainBenchmark::add_bank_step() {
  const BankLayout layout{.views = 2,
                          .images = options_.images,
                          .tokens = tokens_,
                          .width = config_.width,
                          .type = placement_.frozen,
                          .block = options_.images};
  bank_ = make_memory_bank(layout, placement_.device);
  for (std::int64_t view = 0; view < layout.views; ++view) {
    bank_->tokens(view).normal_();
    bank_->class_tokens(view).normal_();
  }
  // Streams of another strength have a bank of their own in a run; to gather from it is the same.
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    views_.push_back(std::make_unique<BankViews>(
        [this](std::uint32_t) -> const BankStore& { return *bank_; }, samplers_[i], i,
        placement_.device, static_cast<std::size_t>(streams_[i].views)));
  }
  tail_ = make_trained_blocks(vit_, config_.depth - 1, placement_.trained, placement_.device);
  step_ = std::make_unique<TrainStep>(*tail_, *method_, SgdOptions{}, alone_);
  measured_.push_back(
      {"bank",
       [this] { return time(options_.steps, [&] { return run_step(views_, captured_); }); },
       {},
       operations_of(*method_)});
}

/// No set is looked at in a benchmark.
class NoSets : public SetFeatures {
 public:
  std::int64_t count(SampleSet) const override { return 0; }
  void for_each(SampleSet, const std::function<void(const at::Tensor&)>&) override {}
  at::Tensor labels() const override { return at::empty({0}, at::kLong); }
};

/// In the middle of its training.
std::unique_ptr<Method> TrainBenchmark::make_method() const {
  constexpr std::int64_t kEpochs = 100;
  MethodChoice choice = options_.method;
  choice->resolve({.epochs = kEpochs});
  const std::int64_t old_classes = (options_.classes + 1) / 2;
  std::vector<std::string> old;
  for (std::int64_t i = 0; i < old_classes; ++i) old.push_back(fmt::format("old-{}", i));
  std::vector<std::int32_t> groups;
  for (std::int64_t i = 0; choice->groups() > 0 && i < options_.images; ++i)
    groups.push_back(static_cast<std::int32_t>(i % choice->groups()));
  auto method = choice->make({.width = config_.width,
                              .classes = class_names(old, options_.classes),
                              .old_classes = old_classes,
                              .labelled = options_.images / 2,
                              .unlabelled = options_.images - options_.images / 2,
                              .groups = groups,
                              .batch = static_cast<std::int64_t>(sampler_.batch_size()),
                              .epochs = kEpochs,
                              .seed = 0,
                              .type = placement_.trained,
                              .device = placement_.device});
  NoSets none;
  method->begin_epoch({.epoch = kEpochs / 4,
                       .images_per_step = static_cast<std::int64_t>(sampler_.batch_size()),
                       .sets = none});
  return method;
}

double TrainBenchmark::operations_of(const Method& method) const {
  std::int64_t numbers = 0;
  for (const auto& [name, tensor] : method.parameters())
    if (tensor.dim() == 2) numbers += tensor.numel();
  return step_operations(config_, numbers, std::llround(rows_of_step()), tokens_);
}

/// Rows of a step; a teacher's, which only pass forward, count for a third.
double TrainBenchmark::rows_of_step() const {
  double rows = 0;
  for (std::size_t i = 0; i < streams_.size(); ++i)
    rows += static_cast<double>(rows_of(i)) / (streams_[i].for_teacher ? 3 : 1);
  return rows;
}

/// New crops of images that lie on the GPU.
void TrainBenchmark::add_fresh_step() {
  const auto count = static_cast<std::size_t>(options_.images);
  ImageCache cache(count, std::numeric_limits<std::uint64_t>::max());
  const ViewSize view = ViewSize::for_crop(static_cast<int>(size_));
  Image image(view.short_side, view.short_side);
  RandomStream stream({.seed = 0});
  for (std::uint8_t& value : image.pixels) value = static_cast<std::uint8_t>(stream.below(256));
  std::vector<std::uint32_t> list(count);
  std::iota(list.begin(), list.end(), 0);
  for (const std::uint32_t source : list) cache.offer(source, image);
  windows_ = ImageWindows::make(cache, list, view.crop, {}, placement_.frozen, placement_.device,
                                {.on_gpu = free_memory(placement_.device) / 3});
  if (!windows_) return;
  fresh_trunk_.emplace(vit_, placement_.frozen, placement_.device);
  std::int64_t rows = 0;  // all pass through the trunk
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    fresh_views_.push_back(std::make_unique<FreshViews>(
        make_cut_pixels(*windows_, samplers_[i], i, static_cast<std::size_t>(streams_[i].views)),
        samplers_[i], *fresh_trunk_, placement_.trunk_batch(), placement_.device));
    rows += rows_of(i);
  }
  measured_.push_back(
      {"fresh",
       [this] {
         return time(options_.steps, [&] { return run_step(fresh_views_, fresh_captured_); });
       },
       {},
       operations_of(*method_) + static_cast<double>(rows) * trunk_operations(config_, size_),
       /*is_trunk=*/true});
}

/// Where the time of a bank step goes.
void TrainBenchmark::add_parts() {
  measured_.push_back({"bank: gather", [this] {
                         return time(options_.steps, [&] { return next_tokens().class_token; });
                       }});
  measured_.push_back({"bank: trained block, optimiser",
                       [this] {
                         const TrunkTokens tokens = next_tokens();
                         return time(options_.steps, [&] {
                           return step_->run_with(
                               tokens, [](const at::Tensor& features) { return features.sum(); },
                               *rate_);
                         });
                       },
                       {},
                       step_operations(config_, 0, rows_of(0), tokens_)});
  measured_.push_back({"bank: trained block, forward", [this] {
                         const TrunkTokens tokens = next_tokens();
                         return time(options_.steps, [&] { return tail_->forward(tokens); });
                       }});
  measured_.push_back({"bank: optimiser", [this] {
                         return time(options_.steps, [&] {
                           step_->optimiser().step(*rate_);
                           return step_->parameters().values();
                         });
                       }});
}

void TrainBenchmark::add_full_step() {
  trunk_.emplace(raw_trunk(config_, placement_.frozen, placement_.device));
  full_ = std::make_unique<FullBlock>(vit_, placement_.trained, placement_.device);
  full_method_ = make_method();
  full_step_ = std::make_unique<TrainStep>(*full_, *full_method_, SgdOptions{}, alone_);
  const at::Tensor images =
      at::randn({2 * options_.batch, 3, size_, size_}, at::device(placement_.device));
  measured_.push_back({"full", [this, images] {
                         return time(1, [&] {
                           for (std::size_t i = 0; i < streams_.size(); ++i) {
                             batches_[i].tokens =
                                 run_in_batches(*trunk_, images.narrow(0, 0, rows_of(i)),
                                                placement_.trunk_batch());
                           }
                           return full_step_->run(batches_, *rate_).total;
                         });
                       }});
}

void TrainBenchmark::add_python_step() {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  python_ = std::make_unique<PythonProcess>(
      options_.python, kTorchStepScript,
      std::vector<std::string>{
          "--width",   text(config_.width),
          "--heads",   text(config_.heads),
          "--hidden",  text(config_.hidden),
          "--tokens",  text(tokens_),
          "--batch",   text(options_.batch),
          "--classes", text(options_.classes),
          "--images",  text(options_.images),
          "--threads", std::to_string(session_.context.threads),
          "--device",  placement_.device.is_cuda() ? "cuda" : "cpu",
          "--dtype",   std::string(element_name(element_type_of(placement_.frozen)))},
      "torch");
  if (!python_->read_line().starts_with("ready"))
    throw UsageError(fmt::format("--python: '{}' cannot run a PyTorch step", options_.python));
  measured_.push_back(
      {"torch", [this] {
         return parse_real(python_->ask(placement_.device.is_cuda() ? "5" : "1")).value();
       }});
}

void TrainBenchmark::run() {
  // As training does it; the roof is a product in the same numbers.
  const Tf32Products tf32(placement_.device.is_cuda() && placement_.frozen == at::kBFloat16);
  const std::int64_t side = placement_.device.is_cuda() ? 8192 : 2048;
  const auto roof_of = [&](at::ScalarType type) {
    const auto options = at::device(placement_.device).dtype(type);
    return [left = at::randn({side, side}, options), right = at::randn({side, side}, options)] {
      return time(1, [&] { return at::matmul(left, right); });
    };
  };
  const auto roof = roof_of(placement_.trained), trunk_roof = roof_of(placement_.frozen);
  Progress progress("bench", static_cast<std::uint64_t>(options_.runs) + 1, "rounds",
                    session_.context.progress());
  for (std::int64_t i = -1; i < options_.runs; ++i) {  // the first round warms up
    for (Measured& measured : measured_) {  // interleaved: a busy machine slows all alike
      const double before = measured.is_trunk ? trunk_roof() : roof();
      const double value = measured.milliseconds();
      if (i < 0) continue;
      (measured.is_trunk ? trunk_roofs_ : roofs_).push_back(before);
      measured.values.push_back(value);
    }
    progress.add();
  }
}

const std::vector<std::string> kTrainColumns = {
    "step",   "backbone", "device",   "dtype",  "threads",     "batch", "milliseconds",
    "lowest", "highest",  "images/s", "gflops", "roof_gflops", "share", "times_bank"};

std::vector<std::vector<std::string>> TrainBenchmark::rows() const {
  const double side = placement_.device.is_cuda() ? 8192 : 2048;
  const auto rate_of = [&](const std::vector<double>& roofs) {
    return roofs.empty() ? 0 : 2 * side * side * side / spread_of(roofs).median / 1e6;
  };
  const double usual_roof = rate_of(roofs_), trunk_roof = rate_of(trunk_roofs_);
  const double bank = spread_of(measured_[0].values).median;
  std::vector<std::vector<std::string>> table;
  for (const Measured& measured : measured_) {
    const Spread spread = spread_of(measured.values);
    const double rate = measured.operations / spread.median / 1e6;
    const double roof = measured.is_trunk ? trunk_roof : usual_roof;
    table.push_back(
        {measured.name, options_.backbone, resolve_device(session_.context.device).name(),
         std::string(element_name(element_type_of(placement_.frozen))),
         std::to_string(session_.context.threads), std::to_string(options_.batch),
         fmt::format("{:.4g}", spread.median), fmt::format("{:.4g}", spread.low),
         fmt::format("{:.4g}", spread.high),
         fmt::format("{:.0f}", 1000 * static_cast<double>(options_.batch) / spread.median),
         measured.operations > 0 ? fmt::format("{:.4g}", rate) : "", fmt::format("{:.4g}", roof),
         measured.operations > 0 ? fmt::format("{:.3g}", rate / roof) : "",
         fmt::format("{:.4g}", spread.median / bank)});
  }
  return table;
}

void bench_train(const BenchTrainOptions& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "csv");
  if (options.batch > options.images) {
    throw UsageError(fmt::format("--batch: {} images a step are more than the {} of the bank",
                                 options.batch, options.images),
                     "give more --images");
  }
  const ComputeThreads compute_threads(session.context.threads);
  TrainBenchmark benchmark(options, session);
  benchmark.run();
  show_bench_table(kTrainColumns, benchmark.rows(), options.csv, session);
}

}  // namespace

Verb bench_train_verb() {
  return {
      .name = "bench train",
      .summary = "milliseconds of a training step: on a token bank, without one, and in PyTorch",
      .example = "protogcd bench train --python python3 --csv train.csv",
      .variant_key = kMethodKey,
      .variants = trained_method_names(),
      .variant_group = kMethodGroup,
      .declare_variant = [](OptionTable& table, const std::string& method) -> Action {
        auto options = std::make_shared<BenchTrainOptions>();
        declare_method(table, options->method, method);
        table.add("backbone", &options->backbone, "a preset; weights are random")
            .value_name("NAME");
        table.add("batch", &options->batch, "images a step, two views each")
            .at_least(2)
            .at_most(65536);
        table.add("k", &options->classes, "number of classes").at_least(1);
        table.add("images", &options->images, "images in the bank").at_least(2);
        table.add("runs", &options->runs, "timed rounds").at_least(1).at_most(1000);
        table.add("steps", &options->steps, "bank steps in a round").at_least(1).at_most(1000);
        table.add("no_full", &options->no_full,
                  "leave out the step without a bank (the trunk, and the whole last block)");
        table
            .add("python", &options->python,
                 "also a bank step in eager PyTorch, by this interpreter")
            .value_name("PATH");
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file");
        return [options](Session& session) { bench_train(*options, session); };
      }};
}

}  // namespace protogcd::cli
