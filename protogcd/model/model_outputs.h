// What a model computes of whole sets of images, in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
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
ModelOutputs outputs_of(const TrainedModel& model, EvaluationTokens& tokens,
                        const std::string& name, const Context& context);
/// Hands out unit rows [b, D] of every readable image, batch by batch, with the sources they are
/// of; the others are noted in `skipped`.
void for_each_feature(
    const TrainedModel& model, const SourceTable& sources, SkippedFiles& skipped,
    const Context& context,
    const std::function<void(std::span<const std::uint32_t>, const at::Tensor&)>& use,
    const std::string& task = "embed");
/// The same of every readable image of a set; the others are noted in `skipped` and left out.
at::Tensor cosines_of(const TrainedModel& model, const ImageSet& set, SkippedFiles& skipped,
                      const Context& context);

}  // namespace protogcd
