// The weight files of presets: where the releases publish them, how large they are, which lies
// where, and which one to begin with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "protogcd/nn/vit_config.h"

namespace protogcd {

inline constexpr std::string_view kWeightServer = "https://dl.fbaipublicfiles.com";

/// The release's address; another server may have the same folders.
std::string weight_url(const VitPreset& preset, std::string_view server = kWeightServer);

/// Bytes of the preset's tensors in float32. The file is a little larger: names, padding, and the
/// mask token that DINOv2 trains with.
std::uint64_t tensor_bytes(const VitPreset& preset);
/// Whether a file of so many bytes can be the preset's. The releases publish no exact size.
bool is_size_of(const VitPreset& preset, std::uint64_t bytes);
/// "343 MB".
std::string megabytes(std::uint64_t bytes);

/// The preset's file in a folder: converted to safetensors, or as published.
std::optional<std::filesystem::path> find_weights(const VitPreset& preset,
                                                  const std::filesystem::path& folder);

/// For somebody who has photographs and no backbone yet.
const VitPreset& recommended_preset(bool with_gpu);

}  // namespace protogcd
