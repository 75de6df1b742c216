// A trained model as an ONNX file, for programs that know nothing of this one.
#pragma once

#include <filesystem>

#include "protogcd/model/stored_model.h"

namespace protogcd {

/// Input `images` [N, 3, S, S]: float32, resized, cropped and normalised as the model's
/// preprocessing says; N is free, S the model's image size. Outputs, float32:
///
///   features       [N, D]: CLS after the final norm
///   logits         [N, K]: what decides about the class (cosines, or with the prototypes' bias)
///                  over the model's temperature
///   probabilities  [N, K]: as `predict` tells them, with the calibrated confidence
///
/// Classes, preprocessing and temperature are among the file's notes. It appears when complete.
void write_onnx(const std::filesystem::path& file, const StoredModel& model);

}  // namespace protogcd
