// Public. result.json: what a run found, as values. Repeated runs have one result.json of their
// own, with mean and deviation beside the results of all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/run/class_number.h"
#include "protogcd/run/evaluation.h"
#include "protogcd/run/found_classes.h"

namespace protogcd {

struct RunResult {
  std::int64_t k = 0, k_old = 0;
  std::optional<ClassNumber> estimate = {};  ///< where K was not given
  std::size_t labelled = 0, unlabelled = 0, test = 0, skipped = 0;
  std::int64_t epochs = 0;
  double seconds = 0;  ///< of the process that finished it
  Evaluation on_unlabelled = {};
  std::optional<Evaluation> on_test = {};
  std::vector<FoundClass> classes = {};  ///< and the unlabelled images in them
  std::uint64_t outliers = 0;            ///< unlabelled images that look like none of them
  std::filesystem::path out = {};        ///< the run's folder
};

nlohmann::json to_json(const RunResult& result);
/// What `to_json` wrote. nlohmann's exceptions where a key is missing or of another type, DataError
/// where an estimate makes no sense.
RunResult run_result_from_json(const nlohmann::json& json);

/// Mean and standard deviation (of a sample) of the accuracies on unlabelled images, in percent.
struct RunSpread {
  Accuracy mean, deviation;
};
RunSpread spread_of(std::span<const RunResult> runs);
/// `mean`, `std` and `runs`; `all`, `old` and `new` are the means.
nlohmann::json to_json(std::span<const RunResult> runs);

void write_result(const std::filesystem::path& file, const RunResult& result);
void write_result(const std::filesystem::path& file, std::span<const RunResult> runs);
/// ModelFileError names the file where it is no result of a run.
RunResult read_result(const std::filesystem::path& file);

}  // namespace protogcd
