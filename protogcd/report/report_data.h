// What a run found, as the page reads it (web/src/data.ts).
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "protogcd/core/context.h"

namespace protogcd {

/// From the files of a finished run's folder. ModelFileError or DataError names what is missing or
/// wrong; a run without embeddings has no map.
nlohmann::json report_data(const std::filesystem::path& folder, const Context& context);

}  // namespace protogcd
