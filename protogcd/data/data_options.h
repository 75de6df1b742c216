// The flags that say which images a verb works on, declared once for all verbs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "protogcd/core/log.h"
#include "protogcd/core/options.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/sample.h"

namespace protogcd {

struct DataOptions {
  std::string dataset;
  std::filesystem::path root, labelled, unlabelled, manifest, images, truth;
  std::optional<std::int64_t> old_classes;
  std::optional<double> labelled_share;  ///< of the old classes' images; nothing: half
  ClassOrder class_order = ClassOrder::kPublished;

  bool is_benchmark() const { return !dataset.empty(); }
};

void declare_data_options(OptionTable& table, DataOptions& options);

/// Opens what the flags name: exactly one of --dataset with --root, --labelled and/or --unlabelled,
/// --manifest, --images; --truth may go with all but --dataset. UsageError if they do not fit
/// together. Notes and warnings go to the log.
Dataset open_data(const DataOptions& options, const Logger& log);

}  // namespace protogcd
