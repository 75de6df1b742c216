// A folder of images again, corrupted: <out>/<corruption>/<severity>/<path below the folder>.png.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/image/corrupt/corruption.h"

namespace protogcd {

struct CorruptOptions {
  std::filesystem::path images;  ///< any nesting
  std::filesystem::path out;
  std::vector<const Corruption*> corruptions;
  std::vector<int> severities;
  bool overwrite = false;  ///< an earlier folder of this kind
};

struct CorruptSummary {
  std::size_t images = 0;
  std::size_t skipped = 0;  ///< could not be read; listed in <out>/skipped.csv
  std::size_t files = 0;    ///< images written
};

/// The folder appears when complete. An image's bytes depend on the context's seed and its path
/// below the folder, not on threads or on the other images. UsageError names an output that cannot
/// be taken, DataError a folder without images, or images that would have the same name.
CorruptSummary write_corrupted_images(const CorruptOptions& options, const BadImagePolicy& policy,
                                      const Context& context);

/// The folder's first readable image, clean and in every severity; one corruption a row.
Image corruption_sheet(const CorruptOptions& options, std::uint64_t seed);

}  // namespace protogcd
