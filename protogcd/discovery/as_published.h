// `--as-published`: one switch for all that a published run had and ours has not unless it is told
// (docs/method.md, "As published"). It stands for values of other options, and those that somebody
// has given stay.
#pragma once

#include <string>
#include <vector>

#include "protogcd/core/options.h"
#include "protogcd/methods/method_options.h"

namespace protogcd {

/// Values of the options of `train`, `discover` and `estimate-k`, by key; those of `method` too.
/// `dataset`: a benchmark's name, or empty. Where a verb lacks an option, it is not asked for it.
std::vector<PublishedSetting> published_settings(const MethodOptions& method,
                                                 const std::string& dataset);

/// Those of `ood`.
std::vector<PublishedSetting> published_outlier_settings();

/// Gives these values to the options of the table that nobody has set.
void take(const std::vector<PublishedSetting>& settings, OptionTable& table);

}  // namespace protogcd
