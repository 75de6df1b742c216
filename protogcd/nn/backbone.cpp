#include "protogcd/nn/backbone.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/published_weights.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

StateDict builtin_state() {
  const auto file = std::make_shared<const SafetensorsFile>(builtin_backbone_bytes(),
                                                            std::string(kBuiltinBackbone));
  return state_of({.format = WeightFormat::kSafetensors,
                   .entries = file->entries(),
                   .metadata = file->metadata(),
                   .owner = file},
                  std::string(kBuiltinBackbone));
}

fs::path preset_file(const VitPreset& preset, const fs::path& folder) {
  if (const auto file = find_weights(preset, folder)) return *file;
  throw ModelFileError(
      fmt::format("backbone '{}': no file '{}'", preset.name, (folder / preset.file_name).string()),
      fmt::format(
          "get it once: protogcd weights get {} {} {} ({}); if it lies elsewhere, name that "
          "folder",
          preset.name, option_name("weights_dir"), shell_word(folder.string()),
          megabytes(tensor_bytes(preset))));
}

}  // namespace

Backbone load_backbone(const BackboneChoice& choice) {
  const VitPreset* preset = find_vit_preset(choice.backbone);
  const bool is_builtin = choice.backbone == kBuiltinBackbone;
  if (preset == nullptr && !is_builtin && !fs::exists(choice.backbone)) {
    std::vector<std::string> names = {std::string(kBuiltinBackbone)};
    for (const auto& known : vit_presets()) names.emplace_back(known.name);
    throw UsageError(
        fmt::format("{}: '{}' is neither a file nor a preset{}", option_name("backbone"),
                    choice.backbone, did_you_mean(choice.backbone, names)),
        fmt::format("presets: {}", join(names, ", ")));
  }
  const fs::path file =
      preset != nullptr ? preset_file(*preset, choice.weights_dir) : fs::path(choice.backbone);
  const ReleaseState release =
      with_release_names(is_builtin ? builtin_state() : load_state_dict(file));
  VitConfig config = preset != nullptr ? preset->config : infer_vit_config(release, choice.heads);
  Vit vit(config, release.state);
  return {file, preset != nullptr ? std::string(preset->name) : "", config,
          preset != nullptr ? preset->preprocessing : noted_preprocessing(release.state),
          std::move(vit)};
}

std::string backbone_sha256(const fs::path& file) {
  if (file != kBuiltinBackbone) return sha256_file(file);
  const auto bytes = builtin_backbone_bytes();
  return sha256_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void save_backbone(const fs::path& file, const Vit& vit, const Preprocessing& pixels,
                   ElementType type) {
  auto notes = backbone_notes(vit.config(), pixels);
  notes["format"] = "pt";  // transformers refuses files without it
  notes[kStyleNote] = naming_style_name(style_with_settings_of(vit.config()));
  auto tensors = named_tensors(vit);
  std::vector<TensorEntry> entries;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.detach().to(at::kCPU, scalar_type_of(type)).contiguous();
    entries.push_back(entry_of(name, tensor));
  }
  write_safetensors(file, entries, notes);
}

}  // namespace protogcd
