// Weight files in another type or under other names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "protogcd/core/tensor_entry.h"

namespace protogcd {

struct ConvertOptions {
  std::optional<ElementType> type;  ///< of floating tensors; nothing keeps each as it is
  bool release_names = false;       ///< rename to the DINO releases' names (vit_names.h)
};

struct ConvertedWeights {
  std::size_t tensors = 0;
  std::uint64_t bytes = 0;  ///< of the tensors
};

/// Writes what `input` (safetensors or .pth) holds to `output` as safetensors, which appears when
/// complete. ModelFileError if a finite number does not fit the type. Integers stay as they are.
ConvertedWeights convert_weights(const std::filesystem::path& input,
                                 const std::filesystem::path& output,
                                 const ConvertOptions& options);

}  // namespace protogcd
