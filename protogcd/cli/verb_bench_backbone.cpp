// `protogcd bench backbone`: images per second of the frozen trunk, how near that is to the
// machine's matrix product, and how much faster than PyTorch.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "protogcd/cli/bench_table.h"
#include "protogcd/cli/operation_counts.h"
#include "protogcd/cli/torch_trunk.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/random_state.h"

namespace protogcd::cli {
namespace {

struct BenchBackboneOptions {
  std::vector<std::string> backbones = {"dino-vits16", "dino-vitb16"};
  std::int64_t batch = 0;
  std::int64_t runs = 5;
  std::string python;
  bool compile = false;
  std::filesystem::path csv;
  bool overwrite = false;
};

struct Result {
  std::string backbone, type;
  std::int64_t batch = 0;
  Spread images_per_second;
  double achieved = 0, roof = 0;  ///< floating-point operations per second
  Spread torch_images_per_second;
  std::string torch;  ///< "2.13.0+cpu eager 16"; empty: not asked for
  double ratio = 0;   ///< ours over PyTorch's: the median over the runs, each beside the other
};

/// Seconds of one call; the result is read back so that a device has finished.
template <class Function>
double seconds_of(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor result = function();
  result.flatten().slice(0, 0, 1).to(at::kCPU);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// A file's model, or a preset's geometry with random weights: speed does not depend on them.
Vit model_of(const std::string& name) {
  if (const VitPreset* preset = find_vit_preset(name))
    return Vit(preset->config, random_vit_state(preset->config, at::kFloat, 0.02));
  return load_backbone({.backbone = name, .weights_dir = {}, .heads = {}}).vit;
}

/// One model in one type, beside the matrix product and, where asked for, PyTorch.
class Measurement {
 public:
  Measurement(const std::string& name, at::ScalarType type, const BenchBackboneOptions& options,
              const Session& session)
      : options_(options),
        device_(resolve_device(session.context.device)),
        vit_(model_of(name)),
        size_(vit_.config().grid * vit_.config().patch),
        batch_(options.batch > 0 ? options.batch
               : device_.is_cuda ? 512
                                 : 16),
        trunk_(vit_, type, device()) {
    result_ = {.backbone = name,
               .type = std::string(element_name(element_type_of(type))),
               .batch = batch_,
               .images_per_second = {},
               .torch_images_per_second = {},
               .torch = {}};
    if (!options.python.empty()) start_torch(session);
  }

  Result run();

 private:
  at::Device device() const {
    return device_.is_cuda ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device_.index))
                           : at::Device(at::kCPU);
  }
  void start_torch(const Session& session);

  const BenchBackboneOptions& options_;
  ComputeDevice device_;
  Vit vit_;
  std::int64_t size_, batch_;
  Trunk trunk_;
  std::optional<TorchTrunk> torch_;
  TorchVariant variant_;
  Result result_;
};

/// PyTorch chooses its own batch size: what suits us may not suit it.
void Measurement::start_torch(const Session& session) {
  torch_.emplace(TorchTrunkSetting{.python = options_.python,
                                   .config = vit_.config(),
                                   .image_size = size_,
                                   .type = result_.type,
                                   .device = device_.name(),
                                   .threads = session.context.threads});
  std::vector<TorchVariant> variants;
  for (const std::int64_t batch : {batch_ / 4, batch_ / 2, batch_, batch_ * 2})
    if (batch > 0) variants.push_back({"eager", batch});
  if (options_.compile) variants.push_back({"compile", batch_});
  variant_ = torch_->fastest(variants);
  result_.torch = torch_->version() + " " + variant_.name();
}

Result Measurement::run() {
  const at::Tensor images =
      at::randn({batch_, 3, size_, size_}, at::TensorOptions(trunk_.type()).device(device()));
  const std::int64_t side = device_.is_cuda ? 8192 : 2048;
  const at::Tensor left = at::randn({side, side}, images.options()),
                   right = at::randn({side, side}, images.options());
  const auto run_trunk = [&] { return trunk_.run(images).class_token; };
  const auto run_roof = [&] { return at::matmul(left, right); };
  const double cube =
      2 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side);
  std::vector<double> rates, roofs, torch_rates, ratios;
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    seconds_of(run_trunk);
    seconds_of(run_roof);
  }
  for (std::int64_t i = 0; i < options_.runs; ++i) {  // interleaved: a busy machine slows all
    roofs.push_back(cube / seconds_of(run_roof));
    rates.push_back(static_cast<double>(batch_) / seconds_of(run_trunk));
    if (torch_) {
      torch_rates.push_back(torch_->images_per_second(variant_).value_or(0));
      ratios.push_back(rates.back() / torch_rates.back());
    }
    roofs.push_back(cube / seconds_of(run_roof));
  }
  result_.images_per_second = spread_of(rates);
  result_.roof = spread_of(roofs).median;
  result_.achieved = result_.images_per_second.median * trunk_operations(vit_.config(), size_);
  if (torch_) {
    result_.torch_images_per_second = spread_of(torch_rates);
    result_.ratio = spread_of(ratios).median;
  }
  return result_;
}

/// With PyTorch beside it, both types that training may use; else the one that --dtype says.
std::vector<at::ScalarType> types_of(const BenchBackboneOptions& options, const Session& session) {
  if (!options.python.empty() && session.context.dtype == "auto")
    return {at::kFloat, at::kBFloat16};
  const bool cuda = resolve_device(session.context.device).is_cuda;
  return {trunk_type(session.context.dtype, cuda ? at::kCUDA : at::kCPU)};
}

std::vector<std::string> columns_of(const BenchBackboneOptions& options) {
  std::vector<std::string> columns = {
      "backbone", "device",  "dtype",           "threads",     "batch", "images_per_second",
      "lowest",   "highest", "achieved_gflops", "roof_gflops", "share"};
  if (!options.python.empty())
    columns.insert(columns.end(),
                   {"torch_images_per_second", "torch_lowest", "torch_highest", "ratio", "torch"});
  return columns;
}

std::vector<std::string> row_of(const Result& result, const Session& session) {
  const auto number = [](double value) { return fmt::format("{:.1f}", value); };
  std::vector<std::string> row = {result.backbone,
                                  resolve_device(session.context.device).name(),
                                  result.type,
                                  fmt::format("{}", session.context.threads),
                                  fmt::format("{}", result.batch),
                                  number(result.images_per_second.median),
                                  number(result.images_per_second.low),
                                  number(result.images_per_second.high),
                                  number(result.achieved / 1e9),
                                  number(result.roof / 1e9),
                                  fmt::format("{:.3f}", result.achieved / result.roof)};
  if (!result.torch.empty())
    row.insert(row.end(), {number(result.torch_images_per_second.median),
                           number(result.torch_images_per_second.low),
                           number(result.torch_images_per_second.high),
                           fmt::format("{:.3f}", result.ratio), result.torch});
  return row;
}

void bench_backbone(const BenchBackboneOptions& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "csv");
  at::set_num_threads(static_cast<int>(session.context.threads));
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : options.backbones) {
    for (const at::ScalarType type : types_of(options, session))
      rows.push_back(row_of(Measurement(name, type, options, session).run(), session));
  }
  show_bench_table(columns_of(options), rows, options.csv, session);
}

}  // namespace

Verb bench_backbone_verb() {
  return {
      .name = "bench backbone",
      .summary = "images per second of the frozen trunk, beside the matrix product and PyTorch",
      .example = "protogcd bench backbone --backbone dino-vitb16 --csv backbone.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<BenchBackboneOptions>();
        table.add("backbone", &options->backbones, "presets (random weights) or files")
            .value_name("NAME|FILE");
        table.add("batch", &options->batch, "images at a time, 0 = what suits the device")
            .at_least(0)
            .at_most(65536);
        table.add("runs", &options->runs, "timed runs").at_least(1).at_most(1000);
        table
            .add("python", &options->python,
                 "a Python interpreter with torch to compare to; without --dtype, in float32 and "
                 "bfloat16")
            .value_name("PATH");
        table.add("compile", &options->compile, "let PyTorch try torch.compile too (minutes)");
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file");
        return [options](Session& session) { bench_backbone(*options, session); };
      }};
}

}  // namespace protogcd::cli
