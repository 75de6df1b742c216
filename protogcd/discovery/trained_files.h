// What a training leaves in its folder beside model and result: predictions, the images that a
// person should label next, and what only the report needs.
#pragma once

#include "protogcd/core/context.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/backbone.h"
#include "protogcd/run/run_folder.h"
#include "protogcd/training/training_material.h"

namespace protogcd {

struct TrainedFiles {
  const RunFolder& folder;
  TrainingMaterial& material;
  const Backbone& backbone;  ///< untrained
  const TrainedModel& model;
  const Predictions& predictions;  ///< of all that came without a label (TrainingSet::to_predict)
  const Context& context;
};

void write_predictions(const TrainedFiles& files);
/// `features` [N, D] of these images here and below; undefined: there are none.
void write_label_queue(const TrainedFiles& files, const at::Tensor& features);
/// The features as the backbone alone has them, beside those of the model; with attention where
/// that can be had: it is an extra, after everything that the run is for.
void write_report_files(const TrainedFiles& files, const at::Tensor& features, bool with_attention);

}  // namespace protogcd
