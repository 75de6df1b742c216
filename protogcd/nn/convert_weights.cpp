#include "protogcd/nn/convert_weights.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/nn/state_dict.h"
#include "protogcd/nn/vit_names.h"

namespace protogcd {
namespace {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

at::Tensor in_type(const std::string& name, const at::Tensor& tensor, at::ScalarType type,
                   const std::string& origin) {
  if (!tensor.is_floating_point() || tensor.scalar_type() == type) return tensor.contiguous();
  at::Tensor result = tensor.to(type).contiguous();
  // Infinities that were none before: only float16 (beyond 65504) and narrowed float64 get them.
  const at::Tensor lost = at::isfinite(tensor).logical_and_(at::isfinite(result).logical_not_());
  if (lost.any().item<bool>()) {
    throw ModelFileError(
        fmt::format("{}: entry '{}': {} of its numbers are too large for {}", origin, name,
                    lost.sum().item<std::int64_t>(), element_name(element_type_of(type))),
        "choose bfloat16 or float32");
  }
  return result;
}

/// As the file orders them; a StateDict is ordered by name.
NamedTensors in_file_order(const WeightFile& file, const StateDict& state) {
  NamedTensors tensors;
  for (const auto& entry : file.entries)
    tensors.emplace_back(entry.name, state.tensors.at(entry.name));
  return tensors;
}

}  // namespace

ConvertedWeights convert_weights(const std::filesystem::path& input,
                                 const std::filesystem::path& output,
                                 const ConvertOptions& options) {
  const WeightFile file = open_weight_file(input);
  const StateDict state = state_of(file, input.string());
  auto metadata = file.metadata;
  metadata.emplace("format", "pt");  // transformers refuses files without it
  NamedTensors tensors;
  if (options.release_names) {
    ReleaseState release = with_release_names(state);
    tensors.assign(release.state.tensors.begin(), release.state.tensors.end());
    metadata[kStyleNote] = naming_style_name(release.style);
  } else {
    tensors = in_file_order(file, state);
  }
  std::vector<TensorEntry> entries;
  ConvertedWeights result;
  for (auto& [name, tensor] : tensors) {
    const at::ScalarType type = options.type ? scalar_type_of(*options.type) : tensor.scalar_type();
    tensor = in_type(name, tensor, type, input.string());
    entries.push_back(entry_of(name, tensor));
    ++result.tensors;
    result.bytes += entries.back().bytes.size();
  }
  write_safetensors(output, entries, metadata);
  return result;
}

}  // namespace protogcd
