// Floating-point operations of a model, for benchmarks: a multiplication and an addition counted as
// two.
#pragma once

#include <cstdint>

#include "protogcd/nn/vit_config.h"

namespace protogcd::cli {

/// Of the frozen trunk for one image: the patches' embedding and all blocks but the last.
double trunk_operations(const VitConfig& config, std::int64_t image_size);

/// Of the tail and of a head whose matrices have `head` numbers, for `rows` views, forward and
/// backward. A dense layer has three products: forward, of its input's gradient, of its weight's.
/// Tokens are constant: their two products have two more.
double step_operations(const VitConfig& config, std::int64_t head, std::int64_t rows,
                       std::int64_t tokens);

}  // namespace protogcd::cli
