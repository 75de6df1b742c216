// Clouds: a fractal map by diamond-square (Fournier, Fussell and Carpenter, 1982).
#pragma once

#include "protogcd/core/random.h"
#include "protogcd/image/corrupt/float_image.h"

namespace protogcd::corruption {

/// One channel that reaches from 0 to 1 (a single pixel is 1). The larger `decay` (above 1), the
/// smoother: what is added at random falls by its square from each scale to the next finer one, as
/// in the published sets.
FloatImage plasma(ImageSize size, double decay, RandomStream& random);

}  // namespace protogcd::corruption
