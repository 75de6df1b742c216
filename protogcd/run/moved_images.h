// Where a run's images lie now, if they were moved after it.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

namespace protogcd {

struct LocatedImages {
  std::vector<std::filesystem::path> files;  ///< in the order of the list
  std::size_t moved = 0;                     ///< found below the root
  std::size_t missing = 0;                   ///< neither there nor where they were
};

/// Looks for images that are no longer where they were. One folder stands in for the common leading
/// folder of all of them: the root with an end of that folder's path, or the root alone, whichever
/// holds most of the missing images (the longest end of several). So folders below the common one
/// always count, and an image is never taken for one that only shares its name. A box
/// ("photo.jpg#4,8,32,32"), a record ("data_batch_1.bin#17") or a file in a tar file
/// ("shard.tar/0017.jpg") is where its file is. Without a root nothing is looked for.
///
/// `found_there` says whether a path is an image's; by default, whether the file (or container)
/// exists.
LocatedImages locate_images(
    const std::vector<std::filesystem::path>& images, const std::filesystem::path& root,
    const std::function<bool(const std::filesystem::path&)>& found_there = {});

}  // namespace protogcd
