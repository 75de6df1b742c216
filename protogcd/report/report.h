// One self-contained HTML file of a run: what was found, to look at and to correct.
#pragma once

#include <filesystem>

#include "protogcd/core/context.h"
#include "protogcd/report/feature_map.h"
#include "protogcd/report/run_contents.h"

namespace protogcd {

/// Writes the page of a finished run. It appears when complete.
void write_report(const std::filesystem::path& run, const std::filesystem::path& out,
                  const Context& context);

/// The same of what was read and laid out already.
void write_report(const RunContents& run, const FeatureMap& map, const std::filesystem::path& out,
                  const Context& context);

}  // namespace protogcd
