// What TensorBoard itself reads from the event files of a folder.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace protogcd::testing {

/// {"tag": [[step, value], ...]}; null where no Python with the package tensorboard is at hand.
nlohmann::json read_by_tensorboard(const std::filesystem::path& folder);

}  // namespace protogcd::testing
