// The flags of training and of counting classes, declared once for `train`, `discover` and
// `estimate-k`.
#pragma once

#include "protogcd/cli/backbone_options.h"
#include "protogcd/cli/data_options.h"
#include "protogcd/cli/image_options.h"
#include "protogcd/cli/verb.h"
#include "protogcd/discovery/trainer.h"

namespace protogcd::cli {

/// How the number of classes is searched for.
struct EstimateFlags {
  std::string rule = "clusters";
  ClassNumberOptions estimate;
};

struct TrainVerbOptions {
  DataOptions data;
  BackboneOptions backbone;
  ImageOptions images;
  TrainOptions train;
  std::string views = "fresh", bank_home = "auto";
  std::optional<double> borrow;
  std::string preset = "reference", hard_labels = "ramp", hard_scope = "batch";
  std::optional<std::int64_t> ramp_epochs;
  std::int64_t runs = 1;
  EstimateFlags estimate;
  bool estimates_k = false;
  std::string outlier_score = "vmf";
  bool report = true;
  std::filesystem::path corrections, previous;
};

void declare_estimate_flags(OptionTable& table, EstimateFlags& flags);
ClassNumberOptions resolved(const EstimateFlags& flags);

/// The flags that a model depends on beside its number of classes and how long it is trained.
void declare_model_options(OptionTable& table, TrainVerbOptions& options);

void declare_train_options(OptionTable& table, TrainVerbOptions& options);

/// Presets and defaults that depend on other flags; paths as they hold from any folder, and the
/// configuration that goes into the run's folder.
void resolve_train_options(TrainVerbOptions& options, OptionTable& table, Session& session);

/// Runs it as the flags say, once or `--runs` times, and prints the result.
void run_training(TrainVerbOptions options, Session& session);

}  // namespace protogcd::cli
