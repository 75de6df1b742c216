// The built-in dataset: drawn objects in a half-labelled folder, with the hidden truth beside it.
// The same seed gives the same bytes, so that the demo needs no download and every result on it can
// be repeated.
#pragma once

#include <cstdint>
#include <filesystem>

#include "protogcd/core/context.h"
#include "protogcd/image/image.h"

namespace protogcd::drawn {

struct DemoOptions {
  std::filesystem::path out;
  std::int64_t per_class = 150;  ///< images of each category
  std::int64_t size = 64;        ///< pixels along each side
  bool overwrite = false;  ///< replace an earlier demo dataset; anything else is never replaced
};

struct DemoSummary {
  std::size_t old_classes = 0, new_classes = 0, outlier_classes = 0;
  std::size_t labelled = 0, unlabelled = 0, outliers = 0;
};

/// Writes labelled/<class>/NNNN.png (half of the old categories' images), unlabelled/NNNNN.png (the
/// other half and all new ones, in random order), outliers/NNNNN.png and truth.csv (path,label of
/// every unlabelled image and outlier). The folder appears under its name only when complete.
DemoSummary write_demo_dataset(const DemoOptions& options, const Context& context);

/// Image number `index` of category number `category`, as the dataset with this seed holds it.
Image draw_demo_image(std::size_t category, std::uint64_t index, int size, std::uint64_t seed);

/// A sheet to look at: one category a row.
Image demo_contact_sheet(int columns, int size, std::uint64_t seed);

}  // namespace protogcd::drawn
