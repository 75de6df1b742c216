// A backbone as users name it: a file, a preset whose file lies in a folder, or the built-in one.
// Geometry, preprocessing and weights.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/nn/builtin_backbone.h"
#include "protogcd/nn/vit.h"
#include "protogcd/nn/vit_config.h"

namespace protogcd {

struct BackboneChoice {
  std::string backbone;               ///< a file, a preset's name, or "builtin"
  std::filesystem::path weights_dir;  ///< where a preset's file lies
  std::optional<std::int64_t> heads;  ///< where a file's geometry is not 64 channels a head
};

struct Backbone {
  std::filesystem::path file;  ///< kBuiltinBackbone for the built-in one, which has none
  std::string preset;          ///< empty where a file was named
  VitConfig config;
  Preprocessing preprocessing;
  Vit vit;  ///< in float32 on the CPU; trained blocks in the type they were saved in

  /// The backbone of a trained model, whose last blocks are no longer the file's.
  struct Trained {
    std::int64_t first_block = 0;
    std::string sha256;  ///< of the trained tensors' file
  };
  std::optional<Trained> trained = {};

  bool is_builtin() const { return file == kBuiltinBackbone; }
};

/// Throws UsageError for a name that is neither file nor preset, and ModelFileError where a
/// preset's file is missing (the hint says how to get it) or does not fit.
/// Nothing is downloaded.
Backbone load_backbone(const BackboneChoice& choice);

/// Of a backbone's whole file, or of kBuiltinBackbone.
std::string backbone_sha256(const std::filesystem::path& file);

/// Writes a file that load_backbone takes for the same model: the release's names, tensors as
/// `type`, and notes of what they cannot tell. It appears when complete.
void save_backbone(const std::filesystem::path& file, const Vit& vit, const Preprocessing& pixels,
                   ElementType type);

}  // namespace protogcd
