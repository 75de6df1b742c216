#include "protogcd/model/centroid_model.h"

#include <ATen/ATen.h>

#include "protogcd/model/outlier_calibration.h"
#include "protogcd/nn/head.h"

namespace protogcd {

TrainedModel centroid_model(const Backbone& backbone, const std::vector<std::string>& old_classes,
                            const at::Tensor& features, const at::Tensor& centroids,
                            const ReadingOptions& reading, const Context& context) {
  ModelInfo info = untrained_model_info(backbone, old_classes, centroids.size(0), reading);
  TrainedModel model(backbone, std::move(info), place(context));
  model.set_prototypes({.centres = centroids});
  const OutlierCalibration usual;
  const at::Tensor cosines =
      at::matmul(unit_rows(features), unit_rows(centroids.to(features.options())).t())
          .to(at::kCPU, at::kFloat);
  model.set_outliers(calibrate_outliers(model.info(), cosines, usual.score, usual.kept));
  return model;
}

}  // namespace protogcd
