// A model away from its data (paper, section VI-D): accuracy on corrupted images, for every
// corruption and severity.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/image_set.h"
#include "protogcd/data/sample.h"
#include "protogcd/image/corrupt/corruption.h"
#include "protogcd/model/evaluation.h"

namespace protogcd {

struct CorruptedAccuracy {
  std::string corruption;
  int severity = 0;
  Evaluation result;
};

struct CorruptionStudy {
  Evaluation clean;
  std::vector<CorruptedAccuracy> cells;  ///< corruption by corruption, severities rising

  /// Means over the corruptions at a severity.
  Accuracy mean_at(int severity) const;
  std::vector<int> severities() const;
  nlohmann::json to_json() const;   ///< in percent
  std::string to_csv() const;       ///< corruption,severity,all,old,new; severity 0 is clean
  std::string to_markdown() const;  ///< All by corruption and severity, then the paper's table of
                                    ///< severities with the loss against clean images
};

struct CorruptionStudyOptions {
  std::vector<const Corruption*> corruptions;
  std::vector<int> severities;
};

/// Corrupts the images as they are read; what is drawn depends on the context's seed. Every
/// corrupted set has a matching of clusters and classes of its own. `truths` as the model numbers
/// classes.
CorruptionStudy study_corruptions(const TrainedModel& model, Evaluation clean,
                                  const SourceTable& sources, std::span<const std::uint32_t> list,
                                  std::span<const std::int32_t> truths,
                                  const CorruptionStudyOptions& options, const Context& context);

/// The same on a published set of files: `open` gives the images of a corruption and severity,
/// whose class ids become truths through `numbers`.
CorruptionStudy study_corrupted_files(
    const TrainedModel& model, Evaluation clean,
    const std::function<ImageSet(const Corruption&, int severity)>& open,
    std::span<const std::int32_t> numbers, const CorruptionStudyOptions& options,
    const Context& context);

}  // namespace protogcd
