// The names of what a run writes at the top of its folder. They stand here alone.
#pragma once

#include "protogcd/core/event_file.h"
#include "protogcd/data/skipped.h"

namespace protogcd::run_files {

inline constexpr const char* kConfig = "config.toml";      ///< the resolved options
inline constexpr const char* kRun = "run.json";            ///< what it ran on
inline constexpr const char* kEstimate = "estimate.json";  ///< K, where it was estimated
inline constexpr const char* kEstimateScores = "estimate-scores.json";  ///< while it goes on
inline constexpr const char* kStarts = "starts.json";            ///< of short trainings before it
inline constexpr const char* kConfidence = "confidence.json";    ///< where it was calibrated
inline constexpr const char* kForeign = "foreign.json";          ///< images set aside
inline constexpr const char* kTune = "tune.json";                ///< settings that were tried
inline constexpr const char* kMetrics = "metrics.jsonl";         ///< metrics_file.h
inline constexpr const char* kPredictions = "predictions.csv";   ///< predictions_table.h
inline constexpr const char* kLabelNext = "label-next.csv";      ///< label_next.h
inline constexpr const char* kLabels = "labels.csv";             ///< label_history.h, and
inline constexpr const char* kRounds = "correction-rounds.csv";  ///< this
inline constexpr const char* kImages = "images.csv";  ///< what it was begun on, for resuming
inline constexpr const char* kEmbeddings = "embeddings.safetensors";
inline constexpr const char* kAttention = "attention.safetensors";
inline constexpr const char* kSkipped = kSkippedFile;
inline constexpr const char* kResult = "result.json";     ///< run_result.h
inline constexpr const char* kFindings = "findings.csv";  ///< findings_file.h
inline constexpr const char* kReport = "report.html";
inline constexpr const char* kEventsPrefix = kEventFilePrefix;

inline constexpr const char* kModel = "model";              ///< a folder, with
inline constexpr const char* kModelInfo = "model.json";     ///< this in it
inline constexpr const char* kCheckpoints = "checkpoints";  ///< a folder
inline constexpr const char* kBank = "bank";                ///< a folder
inline constexpr const char* kFeatures = "features";        ///< a folder, before training
inline constexpr const char* kFirstStage = "first-stage";   ///< a folder: the run before this one

}  // namespace protogcd::run_files
