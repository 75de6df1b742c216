// The small backbone that is part of the program: docs/builtin-backbone.md says how it was made and
// what it is good for.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace protogcd {

/// Its name in place of a file's.
inline constexpr std::string_view kBuiltinBackbone = "builtin";
/// It was trained on images of 64 pixels; beyond this short side it is not the default.
inline constexpr int kBuiltinShortSide = 96;

/// The safetensors file.
std::span<const std::byte> builtin_backbone_bytes();

}  // namespace protogcd
