#include "protogcd/nn/published_weights.h"

#include <fmt/core.h>

namespace protogcd {

namespace fs = std::filesystem;

std::string weight_url(const VitPreset& preset, std::string_view server) {
  const std::string_view file = preset.file_name;
  const bool dinov2 = file.starts_with("dinov2");
  // dino/dino_vitbase16_pretrain/FILE, but dinov2/dinov2_vitb14/FILE, with registers or not.
  const std::string_view folder =
      file.substr(0, dinov2 ? std::string_view("dinov2_vitb14").size() : file.rfind('.'));
  return fmt::format("{}/{}/{}/{}", server, dinov2 ? "dinov2" : "dino", folder, file);
}

std::uint64_t tensor_bytes(const VitPreset& preset) {
  std::uint64_t numbers = 0;
  for (const auto& [name, shape] : vit_tensors(preset.config)) {
    std::uint64_t product = 1;
    for (const std::int64_t side : shape) product *= static_cast<std::uint64_t>(side);
    numbers += product;
  }
  return numbers * sizeof(float);
}

bool is_size_of(const VitPreset& preset, std::uint64_t bytes) {
  constexpr std::uint64_t kMostBeside = 1 << 20;
  const std::uint64_t least = tensor_bytes(preset);
  return bytes >= least && bytes - least <= kMostBeside;
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.0f} MB", static_cast<double>(bytes) / 1e6);
}

std::optional<fs::path> find_weights(const VitPreset& preset, const fs::path& folder) {
  const fs::path published = folder / preset.file_name;
  const fs::path converted = fs::path(published).replace_extension(".safetensors");
  for (const auto& candidate : {converted, published}) {
    if (fs::exists(candidate)) return candidate;
  }
  return std::nullopt;
}

const VitPreset& recommended_preset(bool with_gpu) {
  return *find_vit_preset(with_gpu ? "dino-vitb16" : "dino-vits16");
}

}  // namespace protogcd
