// A person's corrections of a run (from its report page), turned into labels for the next round.
//
//   action,path,class,target
//   rename,,new-01,barn owl       what the class is called
//   merge,,new-02,new-01          its images are of the target
//   wrong,images/7.png,new-01,    the image is not of this class
//   accept,,new-01,               its images are labelled: those at or above the class's median
//                                 typicality that nobody called wrong
//   accept,images/9.png,new-01,   one image, confirmed by eye
//
// Classes and paths are those of the run's predictions.csv.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

struct CorrectionSummary {
  std::size_t labelled = 0;              ///< images that were unlabelled and carry a label now
  std::vector<std::string> new_classes;  ///< classes that had no labelled image before
};

/// Labels images of the dataset as the corrections say. DataError names file and line where an
/// action, class or path is unknown, or classes are merged in a circle.
CorrectionSummary apply_corrections(Dataset& dataset, const std::filesystem::path& corrections,
                                    const std::filesystem::path& run);

}  // namespace protogcd
