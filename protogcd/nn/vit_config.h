// Geometry and preprocessing of a Vision Transformer, and the presets of the public releases.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "protogcd/nn/state_dict.h"
#include "protogcd/nn/vit_names.h"

namespace protogcd {

/// How a release fits its position embedding to another grid of patches. All are bicubic.
enum class PositionRule {
  kScaleOffset,  ///< DINO, DINOv2: the scale is (patches + 0.1) / grid, not recomputed from the
                 ///< sizes
  kSize,         ///< Hugging Face: by size
  kAntialias,    ///< DINOv2 with registers, timm: by size, antialiased
};

struct VitConfig {
  std::int64_t patch = 16;
  std::int64_t width = 768;
  std::int64_t depth = 12;
  std::int64_t heads = 12;
  std::int64_t hidden = 3072;  ///< width of the MLP between its two matrices
  std::int64_t grid = 14;      ///< patches along each side that the position embedding was made for
  std::int64_t registers = 0;  ///< register tokens between CLS and patches
  bool layer_scale = false;    ///< DINOv2: a learned factor per channel on each residual branch
  bool gated_mlp = false;      ///< SwiGLU (DINOv2 giant)
  bool position_on_class = true;  ///< the position embedding has a row for CLS
  double epsilon = 1e-6;          ///< of every LayerNorm
  PositionRule position_rule = PositionRule::kScaleOffset;

  std::int64_t head_width() const { return width / heads; }
  std::int64_t prefix_tokens() const { return 1 + registers; }
  std::int64_t token_count(std::int64_t image_size) const {
    return prefix_tokens() + (image_size / patch) * (image_size / patch);
  }
};

/// What is done to pixels before the network: resize, crop to `size`, scale to [0, 1], subtract
/// mean, divide by deviation.
struct Preprocessing {
  std::int64_t size = 224;
  std::array<double, 3> mean = {0.485, 0.456, 0.406};
  std::array<double, 3> deviation = {0.229, 0.224, 0.225};
};

struct VitPreset {
  std::string_view name;       ///< "dino-vitb16"
  std::string_view file_name;  ///< as the release publishes it
  VitConfig config;
  Preprocessing preprocessing;
  std::string_view purpose = {};  ///< in a few words; empty: too slow or too large for most
};

std::span<const VitPreset> vit_presets();
/// nullptr if there is no preset of that name.
const VitPreset* find_vit_preset(std::string_view name);

/// Geometry read from the tensors themselves; whose names they had settles what tensors do not tell
/// (epsilon, how positions are interpolated). The number of heads is the one given, or noted in the
/// file (below); public releases note none, and all have 64 channels a head.
VitConfig infer_vit_config(const ReleaseState& release, std::optional<std::int64_t> heads = {});

/// The style of names from which `infer_vit_config` would take this epsilon and position rule.
NamingStyle style_with_settings_of(const VitConfig& config);

/// What tensors cannot tell, as notes of a safetensors file, and back: heads, image size, mean and
/// standard deviation. `protogcd pretrain` writes them; a file without has the usual ones.
std::map<std::string, std::string> backbone_notes(const VitConfig& config,
                                                  const Preprocessing& pixels);
/// ModelFileError where a note is no number of its kind.
std::optional<std::int64_t> noted_heads(const StateDict& state);
Preprocessing noted_preprocessing(const StateDict& state);

/// Every tensor a ViT of this geometry needs.
std::vector<ExpectedTensor> vit_tensors(const VitConfig& config);

}  // namespace protogcd
