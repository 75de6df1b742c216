#include "protogcd/nn/vit_names.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <regex>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::string_view kClassToken = "cls_token";
constexpr std::string_view kEmbeddings = "embeddings.";  // Hugging Face's first module

/// What stands before the model's own names, found where the class token is: "module.",
/// "teacher.backbone.", "vit.", "". A file with a student and a teacher means the teacher.
std::string wrapper_prefix(const StateDict& state) {
  std::vector<std::string> prefixes;
  for (const auto& [name, tensor] : state.tensors) {
    if (!name.ends_with(kClassToken)) continue;
    std::string_view prefix = std::string_view(name).substr(0, name.size() - kClassToken.size());
    if (prefix.ends_with(kEmbeddings)) prefix.remove_suffix(kEmbeddings.size());
    if (prefix.empty() || prefix.ends_with('.')) prefixes.emplace_back(prefix);
  }
  if (prefixes.empty()) return "";
  const auto teacher = std::ranges::find_if(
      prefixes, [](const auto& prefix) { return prefix.find("teacher") != prefix.npos; });
  return teacher != prefixes.end() ? *teacher : prefixes.front();
}

/// Names without the wrapper. What is not of the model keeps its full name and ends up among the
/// unused.
StateDict without_wrapper(const StateDict& state) {
  const std::string prefix = wrapper_prefix(state);
  StateDict result{.origin = state.origin, .tensors = {}};
  for (const auto& [name, tensor] : state.tensors) {
    const bool ours = name.starts_with(prefix);
    result.tensors[ours ? name.substr(prefix.size()) : name] = tensor;
  }
  return result;
}

NamingStyle style_of(const StateDict& state) {
  if (state.find("embeddings.cls_token") != nullptr) {
    const bool plain = state.find("encoder.layer.0.layernorm_before.weight") != nullptr ||
                       state.find("layers.0.layernorm_before.weight") != nullptr;
    return plain ? NamingStyle::kHuggingFaceVit : NamingStyle::kHuggingFaceDinov2;
  }
  const bool timm = state.find("reg_token") != nullptr || state.find("head.weight") != nullptr;
  return timm ? NamingStyle::kTimm : NamingStyle::kDino;
}

struct Renaming {
  const char* from;  ///< regular expression
  const char* to;
};

constexpr Renaming kHuggingFaceNames[] = {
    {R"(^embeddings\.patch_embeddings\.projection\.)", "patch_embed.proj."},
    {R"(^embeddings\.position_embeddings$)", "pos_embed"},
    {R"(^embeddings\.(cls_token|mask_token|register_tokens)$)", "$1"},
    {R"(^layernorm\.)", "norm."},
    {R"(^(encoder\.layer|layers)\.(\d+)\.)", "blocks.$2."},
    {R"(^(blocks\.\d+)\.layernorm_before\.)", "$1.norm1."},
    {R"(^(blocks\.\d+)\.layernorm_after\.)", "$1.norm2."},
    {R"(^(blocks\.\d+)\.attention\.(output\.dense|o_proj)\.)", "$1.attn.proj."},
    {R"(^(blocks\.\d+)\.attention\.(attention\.query|q_proj)\.)", "$1.attn.q."},
    {R"(^(blocks\.\d+)\.attention\.(attention\.key|k_proj)\.)", "$1.attn.k."},
    {R"(^(blocks\.\d+)\.attention\.(attention\.value|v_proj)\.)", "$1.attn.v."},
    {R"(^(blocks\.\d+)\.intermediate\.dense\.)", "$1.mlp.fc1."},
    {R"(^(blocks\.\d+)\.output\.dense\.)", "$1.mlp.fc2."},
    {R"(^(blocks\.\d+)\.mlp\.weights_in\.)", "$1.mlp.w12."},
    {R"(^(blocks\.\d+)\.mlp\.weights_out\.)", "$1.mlp.w3."},
    {R"(^(blocks\.\d+)\.layer_scale([12])\.lambda1$)", "$1.ls$2.gamma"},
};

// DINOv2's training checkpoints number blocks twice (chunk, block); timm calls register tokens
// differently.
constexpr Renaming kReleaseNames[] = {
    {R"(^blocks\.\d+\.(\d+)\.(norm|attn|mlp|ls))", "blocks.$1.$2"},
    {R"(^reg_token$)", "register_tokens"},
};

constexpr std::size_t kLongestModelName = 200;  // the regular expressions recurse per character

StateDict renamed(const StateDict& state, std::span<const Renaming> renamings) {
  std::vector<std::pair<std::regex, const char*>> rules;
  for (const auto& [from, to] : renamings) rules.emplace_back(std::regex(from), to);
  StateDict result{.origin = state.origin, .tensors = {}};
  for (const auto& [old_name, tensor] : state.tensors) {
    std::string name = old_name;
    if (name.size() <= kLongestModelName) {
      for (const auto& [from, to] : rules) name = std::regex_replace(name, from, to);
    }
    if (!result.tensors.emplace(name, tensor).second) {
      throw ModelFileError(fmt::format("{}: two tensors would be called '{}'", state.origin, name));
    }
  }
  return result;
}

/// Hugging Face keeps queries, keys and values apart; the releases keep them in one matrix, in that
/// order.
void join_qkv(StateDict& state) {
  for (std::int64_t i = 0; state.find(fmt::format("blocks.{}.attn.q.weight", i)) != nullptr; ++i) {
    for (const char* kind : {"weight", "bias"}) {
      std::vector<at::Tensor> parts;
      for (const char part : {'q', 'k', 'v'}) {
        auto node = state.tensors.extract(fmt::format("blocks.{}.attn.{}.{}", i, part, kind));
        if (!node.empty()) parts.push_back(node.mapped());
      }
      if (parts.empty()) continue;
      const std::string joined = fmt::format("blocks.{}.attn.qkv.{}", i, kind);
      if (parts.size() != 3 || parts[0].dim() == 0 || parts[1].sizes() != parts[0].sizes() ||
          parts[2].sizes() != parts[0].sizes()) {
        throw ModelFileError(
            fmt::format("{}: the parts of '{}' (query, key, value) have different shapes or are "
                        "not all there",
                        state.origin, joined));
      }
      state.tensors[joined] = at::cat(parts, 0);
    }
  }
}

/// timm writes SwiGLU as fc1 and fc2, fc1 twice as wide as fc2 is deep.
void rename_packed_gates(StateDict& state) {
  for (std::int64_t i = 0;; ++i) {
    const std::string mlp = fmt::format("blocks.{}.mlp.", i);
    const at::Tensor* in = state.find(mlp + "fc1.weight");
    const at::Tensor* out = state.find(mlp + "fc2.weight");
    if (in == nullptr || out == nullptr || in->dim() != 2 || out->dim() != 2 ||
        in->size(0) != 2 * out->size(1))
      return;
    for (const auto& [from, to] : {std::pair{"fc1.", "w12."}, {"fc2.", "w3."}}) {
      for (const char* kind : {"weight", "bias"}) {
        auto node = state.tensors.extract(mlp + from + kind);
        if (node.empty()) continue;
        node.key() = mlp + to + kind;
        state.tensors.insert(std::move(node));
      }
    }
  }
}

constexpr std::array<std::string_view, 4> kStyleNames = {"DINO/DINOv2", "timm", "Hugging Face ViT",
                                                         "Hugging Face DINOv2"};

/// The style a converted file notes, else the one its names show.
NamingStyle noted_style(const StateDict& state, NamingStyle shown) {
  const auto note = state.metadata.find(kStyleNote);
  if (note == state.metadata.end()) return shown;
  const auto known = std::ranges::find(kStyleNames, note->second);
  return known == kStyleNames.end() ? shown : static_cast<NamingStyle>(known - kStyleNames.begin());
}

}  // namespace

std::string_view naming_style_name(NamingStyle style) {
  return kStyleNames[static_cast<std::size_t>(style)];
}

ReleaseState with_release_names(const StateDict& state) {
  StateDict result = without_wrapper(state);
  const NamingStyle style = style_of(result);
  if (style == NamingStyle::kHuggingFaceVit || style == NamingStyle::kHuggingFaceDinov2) {
    result = renamed(result, kHuggingFaceNames);
    join_qkv(result);
  } else {
    result = renamed(result, kReleaseNames);
    rename_packed_gates(result);
  }
  result.metadata = state.metadata;
  return {std::move(result), noted_style(state, style)};
}

}  // namespace protogcd
