// `protogcd weights list`: which backbones there are to get, what for, and how fast they are here.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/backbone_options.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/published_weights.h"
#include "protogcd/nn/random_state.h"

namespace protogcd::cli {
namespace {

struct WeightsListOptions {
  std::filesystem::path weights_dir = BackboneOptions{}.weights_dir;
  bool timing = true;
};

/// Least of a few runs: the list is to be quick, and other work on the machine only adds.
double least_seconds(const Trunk& trunk, const at::Tensor& images) {
  double least = 0;
  for (int run = 0; run < 3; ++run) {  // the first warms up
    const auto start = std::chrono::steady_clock::now();
    const TrunkTokens tokens = trunk.run(images);
    const at::Tensor& any = tokens.raw.defined() ? tokens.raw : tokens.class_token;
    any.flatten().slice(0, 0, 1).to(at::kCPU);  // a device has finished then
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    if (run > 0) least = run == 1 ? passed.count() : std::min(least, passed.count());
  }
  return least;
}

/// From one block of random numbers, times the depth, and what is done before the blocks.
double images_per_second(const VitPreset& preset, at::ScalarType type, at::Device device) {
  VitConfig config = preset.config;
  config.depth = 2;  // a trunk leaves out the last
  const Vit vit(config, random_vit_state(config, at::kFloat, 0.02));
  const std::int64_t size = preset.preprocessing.size;
  const std::int64_t batch =
      device.is_cuda() ? 64 : std::max<std::int64_t>(1, 1024 / config.token_count(size));
  const at::Tensor images =
      at::randn({batch, 3, size, size}, at::TensorOptions(type).device(device));
  const double before = least_seconds(Trunk(vit, type, device, 0), images);
  const double with_block = least_seconds(Trunk(vit, type, device, 1), images);
  const double block = std::max(0.0, with_block - before);
  return static_cast<double>(batch) / (before + block * static_cast<double>(preset.config.depth));
}

/// Two digits: more would not be the same a second time.
std::string rough(double rate) {
  return rate < 10 ? fmt::format("{:.1f}", rate)
                   : fmt::format("{:.0f}", std::stod(fmt::format("{:.1e}", rate)));
}

struct WeightsRow {
  const VitPreset* preset;
  std::optional<std::filesystem::path> file;
  double rate = 0;  ///< images per second; 0: not asked for
};

nlohmann::json rows_json(const std::vector<WeightsRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const auto& [preset, file, rate] : rows) {
    json.push_back({{"name", preset->name},
                    {"url", weight_url(*preset)},
                    {"tensor_bytes", tensor_bytes(*preset)},
                    {"purpose", preset->purpose},
                    {"file", nullptr},
                    {"images_per_second", nullptr}});
    if (file) json.back()["file"] = file->string();
    if (rate > 0) json.back()["images_per_second"] = rate;
  }
  return json;
}

void print_rows(const std::vector<WeightsRow>& rows, bool timing) {
  const auto print = [&](std::string_view name, std::string_view size, std::string_view there,
                         std::string_view rate, std::string_view purpose) {
    say("{:18}  {:>6}  {:5}  ", name, size, there);
    if (timing) say("{:>8}  ", rate);
    say("{}\n", purpose);
  };
  print("name", "size", "there", "images/s", "for");
  for (const auto& [preset, file, rate] : rows)
    print(preset->name, megabytes(tensor_bytes(*preset)), file ? "yes" : "no", rough(rate),
          preset->purpose);
}

void list_weights(const WeightsListOptions& options, Session& session) {
  const ComputeDevice where = resolve_device(session.context.device);
  const at::Device device =
      where.is_cuda ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(where.index)) : at::kCPU;
  const at::ScalarType type = trunk_type(session.context.dtype, device);
  const ComputeThreads threads(session.context.threads);
  std::vector<WeightsRow> rows;
  std::vector<std::string> others;
  for (const VitPreset& preset : vit_presets()) {
    if (preset.purpose.empty()) {
      others.emplace_back(preset.name);
      continue;
    }
    rows.push_back({.preset = &preset,
                    .file = find_weights(preset, options.weights_dir),
                    .rate = options.timing ? images_per_second(preset, type, device) : 0});
  }
  const VitPreset& recommended = recommended_preset(where.is_cuda);
  if (session.json()) {
    return session.print_json({{"weights", rows_json(rows)},
                               {"others", others},
                               {"recommended", recommended.name},
                               {"device", where.name()},
                               {"dtype", element_name(element_type_of(type))}});
  }
  print_rows(rows, options.timing);
  say("\nthere: in the folder {}; there are also {}\n", options.weights_dir.string(),
      join(others, ", "));
  if (options.timing)
    say("images/s: about, of {} pixels, on {} in {} with {} threads; from one block timed\n",
        recommended.preprocessing.size, where.name(), element_name(element_type_of(type)),
        session.context.threads);
  say("to begin with, {}: protogcd weights get {}\n", where.is_cuda ? "on a GPU" : "without a GPU",
      recommended.name);
}

}  // namespace

Verb weights_list_verb() {
  return {
      .name = "weights list",
      .summary = "backbones to get: size, purpose, and how fast each is on this machine",
      .example = "protogcd weights list",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<WeightsListOptions>();
        table.add("weights_dir", &options->weights_dir, "where the files lie").value_name("DIR");
        table.add("timing", &options->timing, "time a block of each (a second or two)");
        return [options](Session& session) { list_weights(*options, session); };
      }};
}

}  // namespace protogcd::cli
