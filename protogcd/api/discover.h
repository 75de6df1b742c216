// Public: finds the classes hiding among unlabelled images.
//
//   protogcd::DiscoverRequest request;
//   request.labelled = "photos/labelled";  // a folder a class
//   request.unlabelled = "photos/rest";
//   request.out = "run";
//   const protogcd::RunResult found = protogcd::discover(request);
//
// The run's folder is the one that the program writes: `protogcd report run`, `predict --model run`
// and `discover --out run --resume` go on from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "protogcd/core/context.h"
#include "protogcd/core/error.h"
#include "protogcd/run/run_result.h"

namespace protogcd {

struct DiscoverRequest {
  std::filesystem::path labelled, unlabelled;  ///< folders of images; or
  std::filesystem::path manifest;              ///< a table path,label[,split][,truth]
  std::filesystem::path out;                   ///< the run's folder
  bool overwrite = false, resume = false;

  std::string
      backbone;  ///< a weight file, a preset or "builtin"; empty: built in, if images are small
  std::optional<std::int64_t> k = {};  ///< all classes, old and new; nothing: estimated
  std::string method;                  ///< empty: the default
  std::int64_t epochs = 200;
  /// Any other option of one run of `protogcd discover`, by its key in a configuration file:
  /// {"lr", "0.05"}.
  std::map<std::string, std::string> settings = {};
};

/// Device, dtype, threads and seed are the context's. UsageError names an option that is not known
/// or not allowed; see core/error.h for the others.
RunResult discover(const DiscoverRequest& request, const Context& context = {});

}  // namespace protogcd
