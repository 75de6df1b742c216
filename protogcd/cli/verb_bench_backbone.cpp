// `protogcd bench backbone`: images per second of the frozen trunk, and how near that is to the
// machine's matrix product.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/random_state.h"

namespace protogcd::cli {
namespace {

struct Options {
  std::vector<std::string> backbones = {"dino-vits16", "dino-vitb16"};
  std::int64_t batch = 0;
  std::int64_t runs = 5;
  std::filesystem::path csv;
  bool overwrite = false;
};

struct Spread {
  double median = 0, low = 0, high = 0;
};

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

struct Result {
  std::string backbone, type;
  std::int64_t batch = 0;
  Spread images_per_second;
  double achieved = 0, roof = 0;  ///< floating-point operations per second
};

/// Operations of the frozen blocks and the patch embedding for one image, a multiplication and an
/// addition counted as two.
double trunk_operations(const VitConfig& config, std::int64_t image_size) {
  const auto tokens = static_cast<double>(config.token_count(image_size)),
             width = static_cast<double>(config.width);
  const double mlp = static_cast<double>(config.hidden) * (config.gated_mlp ? 3 : 2);
  const double block = 2 * tokens * (4 * width * width + width * mlp) + 4 * tokens * tokens * width;
  const double patches = 2 * tokens * width * 3 * static_cast<double>(config.patch * config.patch);
  return patches + static_cast<double>(config.depth - 1) * block;
}

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

Result measure(const std::string& name, const Options& options, Session& session) {
  const ComputeDevice choice = resolve_device(session.context.device);
  const at::Device device = choice.is_cuda
                                ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(choice.index))
                                : at::Device(at::kCPU);
  const at::ScalarType type = trunk_type(session.context.dtype, device);
  const Vit vit = model_of(name);
  const std::int64_t size = vit.config().grid * vit.config().patch;
  const Trunk trunk(vit, type, device);
  const std::int64_t batch = options.batch > 0 ? options.batch : choice.is_cuda ? 512 : 16;
  const at::Tensor images =
      at::randn({batch, 3, size, size}, at::TensorOptions(type).device(device));
  const std::int64_t side = choice.is_cuda ? 8192 : 2048;
  const at::Tensor left = at::randn({side, side}, images.options()),
                   right = at::randn({side, side}, images.options());

  const auto run_trunk = [&] { return trunk.run(images).class_token; };
  const auto run_roof = [&] { return at::matmul(left, right); };
  const double cube =
      2 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side);
  std::vector<double> rates, roofs;
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    seconds_of(run_trunk);
    seconds_of(run_roof);
  }
  for (std::int64_t i = 0; i < options.runs; ++i) {  // interleaved: a busy machine slows both
    roofs.push_back(cube / seconds_of(run_roof));
    rates.push_back(static_cast<double>(batch) / seconds_of(run_trunk));
    roofs.push_back(cube / seconds_of(run_roof));
  }
  Result result{name,  std::string(element_name(element_type_of(type))),
                batch, spread_of(rates),
                0,     spread_of(roofs).median};
  result.achieved = result.images_per_second.median * trunk_operations(vit.config(), size);
  return result;
}

const std::vector<std::string> kColumns = {
    "backbone", "device",  "dtype",           "threads",     "batch", "images_per_second",
    "lowest",   "highest", "achieved_gflops", "roof_gflops", "share"};

std::vector<std::string> row_of(const Result& result, const Session& session) {
  const auto number = [](double value) { return fmt::format("{:.1f}", value); };
  return {result.backbone,
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
}

void bench_backbone(const Options& options, Session& session) {
  if (!options.csv.empty()) check_output_path(options.csv, options.overwrite, "--csv");
  at::set_num_threads(static_cast<int>(session.context.threads));
  std::vector<std::vector<std::string>> rows;
  for (const auto& name : options.backbones)
    rows.push_back(row_of(measure(name, options, session), session));
  if (!options.csv.empty()) {
    CsvWriter writer(options.csv, kColumns);
    for (const auto& row : rows) writer.row(row);
    writer.commit();
  }
  if (session.json()) {
    nlohmann::json results = nlohmann::json::array();
    for (const auto& row : rows) {
      nlohmann::json object;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto value = parse_real(row[i]);
        object[kColumns[i]] = value ? nlohmann::json(*value) : nlohmann::json(row[i]);
      }
      results.push_back(object);
    }
    session.print_json({{"results", results}});
    return;
  }
  fmt::print("{}\n", join(kColumns, ","));
  for (const auto& row : rows) fmt::print("{}\n", join(row, ","));
}

}  // namespace

Verb bench_backbone_verb() {
  return {
      .name = "bench backbone",
      .summary =
          "images per second of the frozen trunk, and its share of the matrix product's rate",
      .example = "protogcd bench backbone --backbone dino-vitb16 --csv backbone.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<Options>();
        table.add("backbone", &options->backbones, "presets (random weights) or files")
            .value_name("NAME|FILE");
        table.add("batch", &options->batch, "images at a time, 0 = what suits the device")
            .at_least(0)
            .at_most(65536);
        table.add("runs", &options->runs, "timed runs").at_least(1).at_most(1000);
        table.add("csv", &options->csv, "also write the table to this file").value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace the file");
        return [options](Session& session) { bench_backbone(*options, session); };
      }};
}

}  // namespace protogcd::cli
