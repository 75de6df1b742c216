// What a model computes of whole sets of images, in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "protogcd/core/context.h"
#include "protogcd/data/image_set.h"
#include "protogcd/data/skipped.h"
#include "protogcd/engine/evaluation_tokens.h"
#include "protogcd/model/model.h"

namespace protogcd {

struct ModelOutputs {
  at::Tensor features;  ///< z, unit rows, [N, D] float32 on the CPU
  at::Tensor cosines;   ///< with the prototypes, [N, K] float32 on the CPU
};

/// Of all images, in order. DataError, naming `name`, where a cosine is not a number.
ModelOutputs outputs_of(const Model& model, EvaluationTokens& tokens, const std::string& name,
                        const Context& context);
/// The same of every readable image of a set; the others are noted in `skipped` and left out.
at::Tensor cosines_of(const Model& model, const ImageSet& set, SkippedFiles& skipped,
                      const Context& context);

}  // namespace protogcd
