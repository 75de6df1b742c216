// What a training can be told, declared once: command line, configuration files and library read
// the same table.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/analysis/outlier_scores.h"
#include "protogcd/core/options.h"
#include "protogcd/discovery/class_number.h"
#include "protogcd/methods/method_options.h"
#include "protogcd/training/training_loop.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

/// The defaults are the reference's.
struct TrainOptions {
  std::filesystem::path out;
  /// Of several processes the first one's `out`; the others write to folders that do not stay.
  std::filesystem::path shared_out;
  bool overwrite = false, resume = false;
  std::string next;  ///< the command that the result names as the next one; empty: none
  /// An earlier run to go on from (discovery/earlier_run.h); empty: none.
  std::filesystem::path from;

  /// All classes, old and new. Nothing: estimated where `estimate_k` is set, else those that the
  /// data names.
  std::optional<std::int64_t> k;
  bool estimate_k = false;
  ClassNumberOptions estimate;  ///< its `model` is set by `train`
  /// True: all as in the published runs (discovery/as_published.h). False: settings that are right
  /// on more collections (docs/defaults.md). Nothing: `is_general`.
  std::optional<bool> as_published;
  bool is_general = false;
  /// Whether the method's settings are our own, where nobody says otherwise.
  bool has_general_settings() const { return as_published ? !*as_published : is_general; }
  /// Short trainings from different first prototypes, of which the surest is where the run begins
  /// (discovery/starts.h). Nothing: 1 as published and in a very
  /// short run, else 4.
  std::optional<std::int64_t> beginnings;
  MethodChoice method;
  MaterialOptions material;
  LoopOptions loop;

  /// What predictions call an outlier: the score, and the share of images of known classes that is
  /// not. The threshold is found on `calibration_share` of the labelled images, which are kept out
  /// of training; without, on the unlabelled ones, of which it is the same share always.
  OutlierScore outlier_score = OutlierScore::kVonMises;
  double outlier_keep = 0.95, calibration_share = 0;

  /// Confidence says how often a class is right (discovery/confidence.h). Nothing: as long as
  /// settings are not as published and the run is not very short.
  std::optional<bool> calibrate_confidence;

  /// New classes that no image was found for are dropped in the end. Nothing: where K was
  /// estimated, and settings are not as published.
  std::optional<bool> drop_empty;
  bool drops_empty() const {
    return drop_empty.value_or(estimate_k && !k && has_general_settings());
  }

  /// Unlabelled images that look unlike all that is labelled are not trained on
  /// (discovery/foreign.h).
  bool set_foreign_aside = false;

  /// Settings are first tried on classes whose labels are hidden (discovery/tune.h).
  bool tune = false;

  /// Looks at the data by the backbone's own features: does it fit the labelled classes?
  bool look_at_data = false;

  /// Of the weight decay: matrices alone, or all; nothing: as the method's release.
  std::optional<bool> decay_all;

  /// None for a method that does not train.
  std::int64_t epochs() const { return method->trains() ? loop.schedule.epochs : 0; }

  bool deterministic = false;  ///< on CUDA: the same bits every time, at some cost
  bool report = true;          ///< also what only the report needs: where the model looks
};

/// How the number of classes is searched for, by models of this method.
void declare_estimate_options(OptionTable& table, ClassNumberOptions& options,
                              const MethodOptions& method);
void declare_as_published(OptionTable& table, TrainOptions& options);
/// What it stands for is taken once options are read, those of the method on this dataset among
/// them. All must outlive the table.
void settle_as_published(OptionTable& table, const TrainOptions& options,
                         const std::string& dataset);
/// What a model depends on beside its number of classes and how long it is trained.
void declare_model_options(OptionTable& table, TrainOptions& options);
/// All of them. An option that is not incidental is part of the run's identity.
void declare_train_options(OptionTable& table, TrainOptions& options);

/// The help's group of a method's options is this and its name.
inline constexpr const char* kMethodGroup = "Method";

/// What defaults depend on beside other options.
struct TrainFacts {
  bool has_builtin_backbone = false;
};

/// Gives values to what nobody has set. Returns in words what was decided because of something
/// else ("borrow 1: with a bank").
std::vector<std::string> resolve(TrainOptions& options, const TrainFacts& facts);

/// What a run's numbers depend on, as far as options say it.
std::map<std::string, std::string> identity_of(const TrainOptions& options);

}  // namespace protogcd
