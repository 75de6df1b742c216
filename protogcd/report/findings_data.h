// What else is in the collection, as the page shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "protogcd/core/context.h"
#include "protogcd/report/run_contents.h"
#include "protogcd/run/run_result.h"

namespace protogcd {

/// Counts of all kinds, and the first findings of each with thumbnails of their own: the other
/// thumbnails are of unlabelled images alone. Null where nobody looked.
nlohmann::json findings_data(const RunContents& run, const RunResult& result,
                             const Context& context);

}  // namespace protogcd
