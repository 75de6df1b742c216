// One training: from images and a backbone to the files of a run folder, by one method, with all
// that was found out before it.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/discovery/earlier_run.h"
#include "protogcd/discovery/starts.h"
#include "protogcd/discovery/train_options.h"
#include "protogcd/model/evaluation.h"
#include "protogcd/run/confidence.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/run/run_result.h"
#include "protogcd/training/set_features.h"

namespace protogcd {

struct TrainerInput {
  RunFolder& folder;
  TrainingMaterial& material;
  const Backbone& backbone;
  ModelInfo info;
  const TrainOptions& options;
  std::chrono::steady_clock::time_point started;  ///< when this process began with the run
  const Context& context;
  /// How well the backbone fits the labelled classes; NaN: nobody looked.
  double frozen_accuracy = std::numeric_limits<double>::quiet_NaN();
  std::optional<EarlierRun> earlier = {};
  Starts starts = {};
  std::optional<Confidence> confidence = {};
};

class Trainer {
 public:
  /// What the references point at must outlive it.
  explicit Trainer(TrainerInput input);

  /// Trains, evaluates and writes the run folder, but for its result.
  RunResult run();
  /// What processes before this one took.
  double seconds_before() const { return seconds_before_; }

 private:
  std::unique_ptr<Method> make_method() const;
  std::optional<TakenFrom> take_from_earlier() const;
  void train_epochs();
  void evaluate_all();
  void predict_and_evaluate();
  void evaluate_sets();
  void drop_empty_classes();
  at::Tensor calibrate_and_predict();
  RunResult result_so_far() const;
  Predictions predict(std::initializer_list<SampleSet> sets);
  std::vector<std::int32_t> found_labels() const;

  const TrainerInput given_;
  const TrainOptions& options_;
  const Context& context_;
  TrainingMaterial& material_;
  const ModelInfo& info_;  ///< as it is trained; at the end model_ may have fewer classes
  const TrainingSet& set_;
  const std::vector<Sample> to_predict_;    ///< all that came without a label, and
  const std::vector<std::int32_t> truths_;  ///< what is known of it
  TrainedModel model_;
  const TakenHead head_;  ///< of the earlier run
  std::unique_ptr<Method> method_;
  MaterialFeatures sets_;

  double seconds_before_ = 0;                          ///< of the run's earlier processes
  Outcome outcome_;                                    ///< of the latest evaluation, as are
  std::optional<Evaluation> on_unlabelled_, on_test_;  ///< these
  Predictions predictions_;                            ///< of the unlabelled images
  /// Of their confidence, at the method's temperature and as it is told; NaN: no truth is known.
  double calibration_error_before_ = std::numeric_limits<double>::quiet_NaN(),
         calibration_error_ = calibration_error_before_;
};

}  // namespace protogcd
