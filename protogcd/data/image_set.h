// Sets of images to judge a model on that are no dataset of their own: outliers and shifted data,
// named by one text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protogcd/core/log.h"
#include "protogcd/data/source_table.h"

namespace protogcd {

struct ImageSet {
  std::string name;  ///< short, for tables: "svhn", "fog-3", or the folder's name
  SourceTable sources;
  std::vector<std::int32_t> class_ids;  ///< one per source where the set has labels, else empty
  /// Of a published benchmark: its images are read as the published code does, without turning them
  /// as their EXIF data says.
  bool is_benchmark = false;
};

/// A folder of images, one image file, or one of
///   cifar10:ROOT  imagenet100:ROOT  ...  svhn:ROOT      test images of a dataset
///   FILE.tar   images packed as WebDataset has them        FILE.txt   a path a line
///   cifar10-c:ROOT:CORRUPTION:SEVERITY  (or cifar100-c)  severity 1 to 5
/// A folder that really has such a name is taken as a folder. What is amiss in it is logged.
ImageSet open_image_set(const std::string& text, const Logger& log);

}  // namespace protogcd
