#include "protogcd/nn/vit_config.h"

#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

VitConfig dino(std::int64_t patch, std::int64_t width) {
  return {.patch = patch,
          .width = width,
          .heads = width / 64,
          .hidden = 4 * width,
          .grid = 224 / patch};
}

VitConfig dinov2(std::int64_t width, std::int64_t depth, std::int64_t registers) {
  VitConfig config{.patch = 14,
                   .width = width,
                   .depth = depth,
                   .heads = width / 64,
                   .hidden = 4 * width,
                   .grid = 37};
  config.registers = registers;
  config.layer_scale = true;
  // The release's models with registers were published with other interpolation settings than those
  // without.
  config.position_rule = registers > 0 ? PositionRule::kAntialias : PositionRule::kScaleOffset;
  if (width == 1536) {
    config.gated_mlp = true;
    config.hidden = 4096;
  }
  return config;
}

const std::vector<VitPreset>& presets() {
  static const std::vector<VitPreset> kPresets = {
      {"dino-vits16",
       "dino_deitsmall16_pretrain.pth",
       dino(16, 384),
       {},
       "the quickest: a machine without a GPU"},
      {"dino-vits8", "dino_deitsmall8_pretrain.pth", dino(8, 384), {}},
      {"dino-vitb16",
       "dino_vitbase16_pretrain.pth",
       dino(16, 768),
       {},
       "a machine with a GPU; what published results use"},
      {"dino-vitb8",
       "dino_vitbase8_pretrain.pth",
       dino(8, 768),
       {},
       "small details: four times the tokens of dino-vitb16"},
      {"dinov2-vits14",
       "dinov2_vits14_pretrain.pth",
       dinov2(384, 12, 0),
       {},
       "newer and trained on far more images; small"},
      {"dinov2-vitb14",
       "dinov2_vitb14_pretrain.pth",
       dinov2(768, 12, 0),
       {},
       "newer and trained on far more images"},
      {"dinov2-vitl14", "dinov2_vitl14_pretrain.pth", dinov2(1024, 24, 0), {}},
      {"dinov2-vitg14", "dinov2_vitg14_pretrain.pth", dinov2(1536, 40, 0), {}},
      {"dinov2-vits14-reg4",
       "dinov2_vits14_reg4_pretrain.pth",
       dinov2(384, 12, 4),
       {},
       "dinov2-vits14 with registers: cleaner attention maps"},
      {"dinov2-vitb14-reg4",
       "dinov2_vitb14_reg4_pretrain.pth",
       dinov2(768, 12, 4),
       {},
       "dinov2-vitb14 with registers: cleaner attention maps"},
      {"dinov2-vitl14-reg4", "dinov2_vitl14_reg4_pretrain.pth", dinov2(1024, 24, 4), {}},
      {"dinov2-vitg14-reg4", "dinov2_vitg14_reg4_pretrain.pth", dinov2(1536, 40, 4), {}},
  };
  return kPresets;
}

const at::Tensor& needed(const StateDict& state, const char* name, std::int64_t dimensions) {
  const at::Tensor* tensor = state.find(name);
  if (tensor == nullptr || tensor->dim() != dimensions) {
    throw ModelFileError(
        fmt::format("{}: not a Vision Transformer: no tensor '{}' of {} dimensions", state.origin,
                    name, dimensions),
        "`protogcd weights inspect FILE` lists what is in it");
  }
  return *tensor;
}

constexpr const char *kHeadsNote = "protogcd.heads", *kSizeNote = "protogcd.image_size",
                     *kMeanNote = "protogcd.mean", *kDeviationNote = "protogcd.std";

std::string text_of(const std::array<double, 3>& channels) {
  return fmt::format("{},{},{}", channels[0], channels[1], channels[2]);
}

const std::string* find_note(const StateDict& state, const char* key) {
  const auto found = state.metadata.find(key);
  return found == state.metadata.end() ? nullptr : &found->second;
}

[[noreturn]] void reject_note(const StateDict& state, const char* key, const char* expected) {
  throw ModelFileError(fmt::format("{}: its note '{}' is '{}', expected {}", state.origin, key,
                                   *find_note(state, key), expected));
}

std::optional<std::int64_t> noted_count(const StateDict& state, const char* key) {
  const std::string* note = find_note(state, key);
  if (note == nullptr) return std::nullopt;
  const auto value = parse_integer(*note);
  if (!value || *value < 1 || *value > 1'000'000) reject_note(state, key, "a positive integer");
  return value;
}

void take_channels(const StateDict& state, const char* key, bool positive,
                   std::array<double, 3>& channels) {
  const std::string* note = find_note(state, key);
  if (note == nullptr) return;
  const auto parts = split(*note, ',');
  for (std::size_t i = 0; i < 3; ++i) {
    const auto value = parts.size() == 3 ? parse_real(parts[i]) : std::nullopt;
    if (!value || !std::isfinite(*value) || (positive && *value <= 0))
      reject_note(state, key, positive ? "three positive numbers" : "three numbers");
    channels[i] = *value;
  }
}

}  // namespace

std::map<std::string, std::string> backbone_notes(const VitConfig& config,
                                                  const Preprocessing& pixels) {
  return {{kHeadsNote, std::to_string(config.heads)},
          {kSizeNote, std::to_string(pixels.size)},
          {kMeanNote, text_of(pixels.mean)},
          {kDeviationNote, text_of(pixels.deviation)}};
}

std::optional<std::int64_t> noted_heads(const StateDict& state) {
  return noted_count(state, kHeadsNote);
}

Preprocessing noted_preprocessing(const StateDict& state) {
  Preprocessing pixels;
  pixels.size = noted_count(state, kSizeNote).value_or(pixels.size);
  take_channels(state, kMeanNote, /*positive=*/false, pixels.mean);
  take_channels(state, kDeviationNote, /*positive=*/true, pixels.deviation);
  return pixels;
}

std::span<const VitPreset> vit_presets() {
  return presets();
}

const VitPreset* find_vit_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &VitPreset::name);
  return found == presets().end() ? nullptr : &*found;
}

namespace {

/// What tensors do not tell, by whose names they had.
void take_settings(NamingStyle style, VitConfig& config) {
  switch (style) {
    case NamingStyle::kHuggingFaceVit:
      config.position_rule = PositionRule::kSize;
      config.epsilon = 1e-12;
      break;
    case NamingStyle::kHuggingFaceDinov2:
      config.position_rule = config.registers > 0 ? PositionRule::kAntialias : PositionRule::kSize;
      break;
    case NamingStyle::kTimm:
      config.position_rule = PositionRule::kAntialias;
      break;
    case NamingStyle::kDino:
      if (config.registers > 0) config.position_rule = PositionRule::kAntialias;
  }
}

/// A block without its first tensor must not end the network early.
void check_no_later_block(const StateDict& state, std::int64_t depth) {
  constexpr std::string_view kBlocks = "blocks.";
  for (const auto& [name, tensor] : state.tensors) {
    if (!name.starts_with(kBlocks)) continue;
    const auto number =
        parse_integer(name.substr(kBlocks.size(), name.find('.', kBlocks.size()) - kBlocks.size()));
    if (number && *number >= depth) {
      throw ModelFileError(fmt::format("{}: missing: blocks.{}.norm1.weight (there is {})",
                                       state.origin, depth, name));
    }
  }
}

}  // namespace

NamingStyle style_with_settings_of(const VitConfig& config) {
  for (const NamingStyle style : {NamingStyle::kDino, NamingStyle::kTimm,
                                  NamingStyle::kHuggingFaceVit, NamingStyle::kHuggingFaceDinov2}) {
    VitConfig taken;
    taken.registers = config.registers;
    take_settings(style, taken);
    if (taken.epsilon == config.epsilon && taken.position_rule == config.position_rule)
      return style;
  }
  return NamingStyle::kDino;
}

VitConfig infer_vit_config(const ReleaseState& release, std::optional<std::int64_t> heads) {
  const StateDict& state = release.state;
  constexpr std::int64_t kUsualHeadWidth = 64;
  VitConfig config;
  const at::Tensor& patches = needed(state, "patch_embed.proj.weight", 4);  // [D, 3, P, P]
  config.width = patches.size(0);
  config.patch = patches.size(2);
  config.depth = 0;
  while (state.find(fmt::format("blocks.{}.norm1.weight", config.depth)) != nullptr) ++config.depth;
  if (config.depth == 0) needed(state, "blocks.0.norm1.weight", 1);
  check_no_later_block(state, config.depth);
  if (!heads) heads = noted_heads(state);
  config.heads = heads.value_or(config.width / kUsualHeadWidth);
  if (config.width < 1 || config.patch < 1) {
    throw ModelFileError(fmt::format("{}: 'patch_embed.proj.weight' of shape [{}] has no values",
                                     state.origin, join(patches.sizes(), ", ")));
  }
  if (config.heads < 1 || config.width % config.heads != 0) {
    throw ModelFileError(fmt::format("{}: {} channels cannot be divided among {} heads",
                                     state.origin, config.width, config.heads),
                         fmt::format("say how many there are with {}", option_name("heads")));
  }
  config.gated_mlp = state.find("blocks.0.mlp.w12.weight") != nullptr;
  config.hidden = config.gated_mlp ? needed(state, "blocks.0.mlp.w3.weight", 2).size(1)
                                   : needed(state, "blocks.0.mlp.fc1.weight", 2).size(0);
  if (config.hidden < 1)
    throw ModelFileError(fmt::format("{}: the MLP of block 0 has no channels", state.origin));
  config.layer_scale = state.find("blocks.0.ls1.gamma") != nullptr;
  if (state.find("register_tokens") != nullptr)
    config.registers = needed(state, "register_tokens", 3).size(1);
  const std::int64_t positions = needed(state, "pos_embed", 3).size(1);
  const auto side = [](std::int64_t count) {
    return static_cast<std::int64_t>(std::lround(std::sqrt(count)));
  };
  config.grid = side(std::max<std::int64_t>(positions - 1, 0));
  config.position_on_class = config.grid * config.grid == positions - 1;
  if (!config.position_on_class) config.grid = side(positions);
  if (config.grid < 1 ||
      config.grid * config.grid + (config.position_on_class ? 1 : 0) != positions) {
    throw ModelFileError(fmt::format("{}: pos_embed has {} rows, which is no square of patches",
                                     state.origin, positions));
  }
  take_settings(release.style, config);
  return config;
}

std::vector<ExpectedTensor> vit_tensors(const VitConfig& config) {
  const std::int64_t d = config.width,
                     positions = config.grid * config.grid + (config.position_on_class ? 1 : 0);
  std::vector<ExpectedTensor> tensors = {
      {"cls_token", {1, 1, d}},
      {"pos_embed", {1, positions, d}},
      {"patch_embed.proj.weight", {d, 3, config.patch, config.patch}},
      {"patch_embed.proj.bias", {d}}};
  if (config.registers > 0) tensors.push_back({"register_tokens", {1, config.registers, d}});
  const auto linear = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    tensors.push_back({name + ".weight", {out, in}});
    tensors.push_back({name + ".bias", {out}});
  };
  const auto norm = [&](const std::string& name) {
    tensors.push_back({name + ".weight", {d}});
    tensors.push_back({name + ".bias", {d}});
  };
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    norm(block + "norm1");
    linear(block + "attn.qkv", 3 * d, d);
    linear(block + "attn.proj", d, d);
    norm(block + "norm2");
    linear(block + (config.gated_mlp ? "mlp.w12" : "mlp.fc1"),
           config.gated_mlp ? 2 * config.hidden : config.hidden, d);
    linear(block + (config.gated_mlp ? "mlp.w3" : "mlp.fc2"), d, config.hidden);
    if (config.layer_scale) {
      tensors.push_back({block + "ls1.gamma", {d}});
      tensors.push_back({block + "ls2.gamma", {d}});
    }
  }
  norm("norm");
  return tensors;
}

}  // namespace protogcd
