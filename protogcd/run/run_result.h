// Public. result.json: what a run found, as values. Repeated runs have one result.json of their
// own, with mean and deviation beside the results of all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/run/class_number.h"
#include "protogcd/run/confidence.h"
#include "protogcd/run/epoch_comparison.h"
#include "protogcd/run/evaluation.h"
#include "protogcd/run/findings_file.h"
#include "protogcd/run/found_classes.h"
#include "protogcd/run/taken_from.h"
#include "protogcd/run/tuning.h"

namespace protogcd {

struct RunResult {
  std::int64_t k = 0, k_old = 0;
  std::int64_t dropped = 0;  ///< new classes that found no image; `k` does not count them
  std::optional<ClassNumber> estimate = {};   ///< where K was not given
  std::optional<Tuning> tuning = {};          ///< where settings were tried
  std::optional<TakenFrom> from = {};         ///< where it went on from another run
  std::optional<Confidence> confidence = {};  ///< where it was calibrated
  /// Expected calibration error of the predictions of unlabelled images, where the truth is known,
  /// and at the method's own temperature; NaN: not known.
  double calibration_error = std::numeric_limits<double>::quiet_NaN(),
         calibration_error_before = std::numeric_limits<double>::quiet_NaN();
  std::size_t labelled = 0, unlabelled = 0, test = 0, skipped = 0;
  std::int64_t epochs = 0;
  double seconds = 0;  ///< of all its processes, but for what one did after its last checkpoint
  /// The most memory that its last process held, in MiB; 0: older results do not say.
  std::uint64_t host_mib = 0, gpu_mib = 0;
  Evaluation on_unlabelled = {};
  std::optional<Evaluation> on_test = {};
  /// Where a truth is known and something was trained; older results have none.
  std::optional<EpochComparison> by_epoch = {};
  std::vector<FoundClass> classes = {};  ///< and the unlabelled images in them
  std::uint64_t outliers = 0;  ///< unlabelled images that score above the outlier threshold
  /// Labelled images that were kept out of training and decided about that threshold; 0: it is
  /// but a share of the unlabelled images.
  std::size_t calibrated_on = 0;
  double outlier_keep = 0.95;  ///< the share of them that is below
  /// Of the labelled images, those whose nearest neighbours by the backbone's own features, before
  /// any training, are of their class; NaN where nobody looked.
  double frozen_accuracy = std::numeric_limits<double>::quiet_NaN();
  std::optional<FindingCounts> findings = {};  ///< of findings.csv, where somebody looked
  std::string next = {};           ///< the command that a first look leads to; empty after training
  std::filesystem::path out = {};  ///< the run's folder
};

/// How many outliers chance alone would make, if all unlabelled images were like the known ones.
double outliers_by_chance(const RunResult& result);
/// What the outliers of a run are, for people; empty where there are none.
std::string outliers_in_words(const RunResult& result, const OptionSpelling& spelling = {});
/// A frozen accuracy below this makes the backbone the first suspect.
inline constexpr double kLowFrozenAccuracy = 0.6;
/// Whether the backbone's own features fit the labelled classes so badly that it is to blame, for
/// people; empty where they do not.
std::string suspect_in_words(const RunResult& result);

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
/// ModelFileError names the file where it is no result of a run, or of a later format.
RunResult read_result(const std::filesystem::path& file);

}  // namespace protogcd
