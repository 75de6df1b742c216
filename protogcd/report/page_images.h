// Which images a page shows, and in which order they get thumbnails.
#pragma once

#include <cstddef>
#include <vector>

#include "protogcd/report/run_contents.h"

namespace protogcd {

/// With more, a browser takes seconds for what a person does.
inline constexpr std::size_t kMostOnPage = 100'000;

/// Those of the cards and the outliers first, so that a page needs few sheets to open, and has what
/// it shows most where there are too many images.
std::vector<std::size_t> thumbnail_order(const RunImages& images, std::size_t classes);

/// The run as if it had `most` images at most: those on the map, in the queue, with maps of
/// attention and on the cards of classes, and of the others as many, evenly. Numbers of images are
/// places among these.
RunContents page_sample(RunContents run, std::size_t most);

}  // namespace protogcd
