// Frost on a window pane, drawn: fern-like crystals on a cloudy film.
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/image/corrupt/float_image.h"

namespace protogcd::corruption {

/// Three channels from 0 (clear) to 1.
FloatImage draw_ice(ImageSize size, RandomStream& random);

}  // namespace protogcd::corruption
