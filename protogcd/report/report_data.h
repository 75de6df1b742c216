// What a run found, as the page reads it (web/src/data.ts).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "protogcd/core/context.h"
#include "protogcd/report/feature_map.h"
#include "protogcd/report/run_contents.h"

namespace protogcd {

/// ModelFileError or DataError names what is missing or wrong in the run's other files. A run
/// without embeddings has no map.
nlohmann::json report_data(const RunContents& run, const FeatureMap& map, const Context& context);

}  // namespace protogcd
