// Tensor names: every public release is translated into the names of the DINO and DINOv2 releases,
// which we write too.
#pragma once

#include "protogcd/nn/state_dict.h"

namespace protogcd {

/// Which family of names a file uses.
enum class NamingStyle { kDino, kTimm, kHuggingFaceVit, kHuggingFaceDinov2 };

std::string_view naming_style_name(NamingStyle style);

/// Under this key a converted file notes the style its tensors had before they were renamed: the
/// names alone no longer tell which release's settings (epsilon, positions) apply.
inline constexpr const char* kStyleNote = "protogcd.naming_style";

/// Tensors under the releases' names, and whose names they had.
struct ReleaseState {
  StateDict state;
  NamingStyle style = NamingStyle::kDino;
};

/// Strips wrappers (module., backbone., teacher., ...), translates timm's and Hugging Face's names,
/// joins separate q/k/v into qkv. Names it does not know stay as they are.
ReleaseState with_release_names(const StateDict& state);

}  // namespace protogcd
