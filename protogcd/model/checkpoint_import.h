// Checkpoints of the published ProtoGCD code as models of this program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/model/model.h"

namespace protogcd {

struct CheckpointImport {
  std::filesystem::path checkpoint;      ///< a state_dict of Sequential(backbone, DINOHead)
  std::filesystem::path out;             ///< the model's folder
  std::vector<std::string> old_classes;  ///< in the order of their labels
  std::optional<std::int64_t> heads;     ///< of attention, where not width / 64
  std::int64_t image_size = Preprocessing{}.size;
  double temperature = 0.1;
};

/// Writes the whole Vision Transformer of the checkpoint (`0.*`) as a backbone into the model's
/// folder, and beside it a model of the last block, the prototypes (`1.prototype_layer.*`) and the
/// projection (`1.mlp.*`). The number of classes is the prototypes'. Images are read as the
/// published code reads them: not turned upright, normalised with ImageNet's mean and deviation.
///
/// ModelFileError names the file and every tensor that is missing or has another shape; nothing is
/// written then. UsageError where there are fewer prototypes than old classes.
ModelInfo import_checkpoint(const CheckpointImport& options, const Context& context);

}  // namespace protogcd
