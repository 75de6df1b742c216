// Two runs side by side: which of their classes stand for each other, and on which images they
// differ.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/core/context.h"

namespace protogcd {

/// A class of the first run and the one of the second that stands for it; one of the names is empty
/// where none does.
struct MatchedClasses {
  std::string first = {}, second = {};
  std::int64_t images_first = 0, images_second = 0, both = 0;

  /// Of the images that either has, the share that both have.
  double agreement() const;
};

struct DifferingImage {
  std::string path, first, second;  ///< absolute path, class in either run
};

struct RunComparison {
  std::int64_t images = 0;  ///< in both runs
  std::int64_t only_first = 0, only_second = 0;
  std::int64_t agreeing = 0;  ///< their classes stand for each other
  double agreement() const { return static_cast<double>(agreeing) / static_cast<double>(images); }
  double nmi = 0, ari = 0;
  std::vector<MatchedClasses> classes;    ///< the largest of the first run first; without one last
  std::vector<DifferingImage> differing;  ///< pair of classes by pair, the largest first
};

/// Of each, its predictions: `run` is a run's folder or a predictions table. Classes are matched
/// one to one so that most images agree, whatever their names. DataError where the two have no
/// image in common or one lists an image twice.
RunComparison compare_runs(const std::filesystem::path& first, const std::filesystem::path& second);

/// `path,class_1,class_2`, paths relative to the file's folder.
void write_differences(const RunComparison& comparison, const std::filesystem::path& csv);

/// One HTML file with the matched classes and thumbnails of the images that differ.
void write_comparison_page(const RunComparison& comparison, const std::string& first,
                           const std::string& second, const std::filesystem::path& page,
                           const Context& context);

}  // namespace protogcd
