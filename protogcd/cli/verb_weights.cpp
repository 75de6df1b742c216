// `protogcd weights inspect|convert`: what is in a weight file, and the same as safetensors.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/convert_weights.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd::cli {
namespace {

struct InspectOptions {
  std::filesystem::path file;
  std::optional<std::int64_t> heads;
};

struct ConvertVerbOptions {
  std::filesystem::path input, output;
  std::string dtype = "keep", names = "keep";
  bool overwrite = false;
};

/// What the tensors are as a model: a Vision Transformer, or why not.
struct ModelGuess {
  std::string naming;
  std::optional<VitConfig> geometry;
  std::string problem;
  std::vector<std::string> unused;
};

ModelGuess guess_model(const WeightFile& file, const InspectOptions& options) {
  ModelGuess guess;
  try {
    const ReleaseState release = with_release_names(state_of(file, options.file.string()));
    // Names of what is no model follow no style.
    if (release.state.find("cls_token") != nullptr) guess.naming = naming_style_name(release.style);
    const VitConfig config = infer_vit_config(release, options.heads);
    guess.unused = check_tensors(release.state, vit_tensors(config));
    guess.geometry = config;
  } catch (const ModelFileError& error) {
    guess.problem = error.spelled(flag_of);
  }
  return guess;
}

nlohmann::json geometry_json(const VitConfig& config) {
  return {{"patch", config.patch},         {"width", config.width},
          {"depth", config.depth},         {"heads", config.heads},
          {"hidden", config.hidden},       {"grid", config.grid},
          {"registers", config.registers}, {"layer_scale", config.layer_scale},
          {"gated_mlp", config.gated_mlp}};
}

std::string geometry_text(const VitConfig& config) {
  return fmt::format(
      "Vision Transformer: patch {}, width {}, depth {}, {} heads, MLP {}{}{}{}, "
      "positions for {}x{} pixels",
      config.patch, config.width, config.depth, config.heads, config.hidden,
      config.gated_mlp ? " (gated)" : "", config.layer_scale ? ", layer scale" : "",
      config.registers > 0 ? fmt::format(", {} registers", config.registers) : "",
      config.grid * config.patch, config.grid * config.patch);
}

struct Totals {
  std::uint64_t numbers = 0, bytes = 0;
};

Totals totals_of(const WeightFile& file) {
  Totals totals;
  for (const auto& entry : file.entries) {
    totals.numbers += entry.element_count();
    totals.bytes += entry.bytes.size();
  }
  return totals;
}

nlohmann::json inspect_json(const WeightFile& file, const ModelGuess& guess,
                            const InspectOptions& options) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& entry : file.entries) {
    rows.push_back({{"name", entry.name},
                    {"shape", entry.shape},
                    {"dtype", element_name(entry.type)},
                    {"bytes", entry.bytes.size()}});
  }
  const Totals totals = totals_of(file);
  nlohmann::json result = {{"file", options.file.string()},
                           {"format", weight_format_name(file.format)},
                           {"tensors", rows},
                           {"parameters", totals.numbers},
                           {"bytes", totals.bytes},
                           {"metadata", file.metadata},
                           {"unused", guess.unused},
                           {"naming", nullptr},
                           {"geometry", nullptr},
                           {"problem", nullptr}};
  if (!guess.naming.empty()) result["naming"] = guess.naming;
  if (guess.geometry) {
    result["geometry"] = geometry_json(*guess.geometry);
  } else {
    result["problem"] = guess.problem;
  }
  return result;
}

void inspect(const InspectOptions& options, Session& session) {
  const WeightFile file = open_weight_file(options.file);
  const ModelGuess guess = guess_model(file, options);
  if (session.json()) {
    session.print_json(inspect_json(file, guess, options));
    return;
  }
  std::size_t name_width = 4, shape_width = 5;
  for (const auto& entry : file.entries) {
    name_width = std::clamp(entry.name.size(), name_width, std::size_t{60});
    shape_width = std::clamp(entry.shape_text().size(), shape_width, std::size_t{30});
  }
  say("{:{}}  {:{}}  {:8}  {:>9}\n", "name", name_width, "shape", shape_width, "dtype", "size");
  for (const auto& entry : file.entries) {
    say("{:{}}  {:{}}  {:8}  {:>9}\n", entry.name, name_width, entry.shape_text(), shape_width,
        element_name(entry.type), human_bytes(entry.bytes.size()));
  }
  const Totals totals = totals_of(file);
  say("{}: {}, {} tensors, {} numbers, {}\n", options.file.string(),
      weight_format_name(file.format), file.entries.size(), totals.numbers,
      human_bytes(totals.bytes));
  for (const auto& [key, note] : file.metadata) say("note: {} = {}\n", key, note);
  if (!guess.geometry) {
    if (!guess.naming.empty()) say("names of {}\n", guess.naming);
    say("no usable backbone: {}\n", guess.problem);
    return;
  }
  say("{}; names of {}\n", geometry_text(*guess.geometry), guess.naming);
  for (const auto& name : guess.unused) say("not used: {}\n", name);
}

std::optional<ElementType> element_type_named(const std::string& name) {
  for (const auto type : {ElementType::kFloat64, ElementType::kFloat32, ElementType::kFloat16,
                          ElementType::kBfloat16}) {
    if (element_name(type) == name) return type;
  }
  return std::nullopt;  // keep
}

void convert(const ConvertVerbOptions& options, Session& session) {
  check_output_path(options.output, options.overwrite, "OUT");
  const auto written = convert_weights(
      options.input, options.output,
      {.type = element_type_named(options.dtype), .release_names = options.names == "release"});
  if (session.json()) {
    session.print_json(
        {{"out", options.output.string()}, {"tensors", written.tensors}, {"bytes", written.bytes}});
    return;
  }
  say("{}: {} tensors, {}\n", options.output.string(), written.tensors, human_bytes(written.bytes));
}

}  // namespace

Verb weights_inspect_verb() {
  return {
      .name = "weights inspect",
      .summary = "what a weight file holds, and which Vision Transformer it is",
      .example = "protogcd weights inspect dino_vitbase16_pretrain.pth",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<InspectOptions>();
        table.add("file", &options->file, "safetensors, .pth or .pt").positional().required();
        table.add("heads", &options->heads, "attention heads, where not width / 64").at_least(1);
        return [options](Session& session) { inspect(*options, session); };
      }};
}

Verb weights_convert_verb() {
  return {
      .name = "weights convert",
      .summary = "write a weight file as safetensors, in another type or under other names",
      .example =
          "protogcd weights convert dino_vitbase16_pretrain.pth dino.safetensors "
          "--dtype bfloat16",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<ConvertVerbOptions>();
        table.add("in", &options->input, "safetensors, .pth or .pt").positional().required();
        table.add("out", &options->output, "the safetensors file to write").positional().required();
        table.add("dtype", &options->dtype, "type of floating tensors")
            .one_of({"keep", "float32", "float16", "bfloat16", "float64"});
        table.add("names", &options->names, "the file's own names, or those of the DINO releases")
            .one_of({"keep", "release"});
        table.add("overwrite", &options->overwrite, "replace the file if it exists").flag_only();
        return [options](Session& session) { convert(*options, session); };
      }};
}

}  // namespace protogcd::cli
