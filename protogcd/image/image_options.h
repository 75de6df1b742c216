// How a verb reads its images, declared once for all verbs. What becomes of those that cannot be
// read is said by flags that every verb has: Session::bad_image_policy.
#pragma once

#include "protogcd/core/options.h"
#include "protogcd/image/decode.h"

namespace protogcd {

struct ImageOptions {
  bool fast_decode = false;
};

void declare_image_options(OptionTable& table, ImageOptions& options);

/// Benchmark datasets are read as the published code reads them, users' photos are turned upright.
/// `short_side` is what the images will be resized to.
DecodeOptions decode_options(const ImageOptions& options, bool is_benchmark, int short_side);

}  // namespace protogcd
