// What TensorBoard itself reads from the event files of a folder.
#pragma once

#include <filesystem>

#include "protogcd/core/json.h"

namespace protogcd::testing {

/// {"tag": [[step, value], ...]}; null where no Python with the package tensorboard is at hand.
nlohmann::json read_by_tensorboard(const std::filesystem::path& folder);

/// What TensorBoard's projector makes of a folder: {name: {"shape": [N, D], "numbers": N * D,
/// "sum": x, "metadata": text, "sprite": bytes}}; null where there is no Python with it.
nlohmann::json read_by_projector(const std::filesystem::path& folder);

}  // namespace protogcd::testing
