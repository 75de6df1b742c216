// Features of images in memory, for work that needs them all at once (`embed.h` writes them to a
// file).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/source_table.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/nn/backbone.h"

namespace protogcd {

struct ImageFeatures {
  at::Tensor values;                   ///< [n, D] on the CPU, float32 or float64
  std::vector<std::size_t> positions;  ///< [n]: which of the list each row is
};

/// CLS after the final norm of every readable image of the list, in its order. Images that cannot
/// be read are noted in `skipped` and left out. InterruptedError between batches where the context
/// asks to stop: nothing is kept.
ImageFeatures image_features(const SourceTable& sources, std::span<const std::uint32_t> list,
                             Backbone backbone, const ReadingOptions& reading,
                             SkippedFiles& skipped, const Context& context);

}  // namespace protogcd
