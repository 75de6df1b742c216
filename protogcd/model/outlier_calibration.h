// Outlier scores of whole sets, and the threshold between images of a model's classes and others.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "protogcd/model/model.h"

namespace protogcd {

/// [N] of cosines [N, K]. UsageError for the von Mises-Fisher score of a model that does not know
/// its concentrations.
std::vector<double> outlier_scores(const ModelInfo& info, OutlierScore score,
                                   const at::Tensor& cosines);

/// The threshold that keeps this share of images, which are taken to be of the model's classes, and
/// the concentrations of the classes they fall into. With `held_out`, cosines of labelled images
/// that training has not seen, those decide about the threshold.
OutlierCalibration calibrate_outliers(const ModelInfo& info, const at::Tensor& cosines,
                                      OutlierScore score, double kept,
                                      const at::Tensor& held_out = {});

}  // namespace protogcd
