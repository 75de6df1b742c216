// A run goes on from what an earlier one trained: its blocks, and where classes agree its
// prototypes, so that classes stay what they were when new images come.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/log.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/methods/method.h"
#include "protogcd/model/model.h"
#include "protogcd/run/taken_from.h"

namespace protogcd {

struct EarlierRun {
  std::filesystem::path run;
  ModelInfo info;
  std::map<std::string, at::Tensor> blocks;  ///< the trained ones, by the release's names
  at::Tensor prototypes;                     ///< [K, D], of its own classes
  std::map<std::string, at::Tensor> of_method;
  bool gives_head = true;       ///< beside the blocks
  bool is_first_stage = false;  ///< it lies in the run's own folder
};

/// The run that `options.from` names, if any. UsageError where it is none, not finished, of another
/// backbone, preprocessing or of other trained blocks; ModelFileError where its model is damaged.
std::optional<EarlierRun> open_earlier_run(const TrainOptions& options, const Backbone& backbone,
                                           bool is_first_stage);

/// The same backbone with the earlier run's blocks.
Backbone with_blocks_of(const EarlierRun& earlier, const Backbone& backbone);

/// How many classes a run has whose estimate is this one of `info`: not fewer than the earlier run
/// where its new classes stay, which is told.
std::int64_t with_classes_of(const EarlierRun& earlier, const ModelInfo& info,
                             std::int64_t unlabelled, const Logger& log);

/// What a run of these classes takes of the head: old classes by their names, new ones by their
/// numbers where both runs have the same old classes and this one has no fewer new ones.
TakenHead head_of(const EarlierRun& earlier, const ModelInfo& info);

/// What `method` took, of parameters these (TakenHead::give_to).
TakenFrom taken_from(const EarlierRun& earlier, const ModelInfo& info, const Method& method,
                     std::vector<std::string> parameters);
/// Says it, and why new classes are not what they were.
void tell_taken(const TakenFrom& taken, const EarlierRun& earlier, const ModelInfo& info,
                const Logger& log);

}  // namespace protogcd
