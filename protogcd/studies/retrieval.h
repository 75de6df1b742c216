// The most and the least typical images of every class (paper, section VI-E): typicality is the
// cosine of an image's feature with the prototype of its class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/log.h"
#include "protogcd/image/image.h"

namespace protogcd {

struct TypicalImage {
  std::string path;  ///< as predictions.csv has it: relative to that file
  double typicality = 0;
};

struct ClassExamples {
  std::string name;
  bool is_new = false;
  std::size_t images = 0;                 ///< in the class
  std::vector<TypicalImage> most, least;  ///< the extreme one first; no image is in both
};

/// `top` of each kind for every class of a predictions.csv, classes in the order of their names
/// with old ones first. DataError names the file and what is wrong with it.
std::vector<ClassExamples> find_examples(const std::filesystem::path& predictions, std::size_t top);

/// A row for each class: its most typical images, a gap, its least typical ones with the extreme
/// one last. What cannot be read is grey, and told to the log. Paths are relative to `folder`.
Image example_sheet(const std::vector<ClassExamples>& classes, std::size_t top,
                    const std::filesystem::path& folder, const Logger& log);

}  // namespace protogcd
