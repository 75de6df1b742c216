#include "protogcd/image/image_options.h"

namespace protogcd {

void declare_image_options(OptionTable& table, ImageOptions& options) {
  table.add("fast_decode", &options.fast_decode,
            "decode large JPEGs at a fraction of their size: faster, but not the exact pixels");
}

DecodeOptions decode_options(const ImageOptions& options, bool is_benchmark, int short_side) {
  return {.apply_orientation = !is_benchmark,
          .fast_short_side = options.fast_decode ? short_side : 0};
}

}  // namespace protogcd
