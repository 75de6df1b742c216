// Pictures that a collection has several times: equal files, and the same picture in another size,
// compression or brightness.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/image/image_look.h"

namespace protogcd {

struct NearDuplicate {
  std::size_t image = 0, first = 0;  ///< places in the list: what `image` repeats comes before it
  double correlation = 0;            ///< of their grey thumbnails
};

/// Every comparison costs a little, and there are a half times the square of the images.
inline constexpr std::size_t kMostCompared = 200'000;

/// In the order of the list; every image is compared with the first one of each picture, so that
/// a chain of small differences makes no group. Images of one plain colour are left out. Nothing
/// where there are more than kMostCompared. InterruptedError when asked to stop.
std::optional<std::vector<NearDuplicate>> near_duplicates(std::span<const ImageLook> looks,
                                                          const Context& context);

}  // namespace protogcd
