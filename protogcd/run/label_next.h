// Public. label-next.csv: the images whose labels would help a run most, the most useful first.
//
//   rank,path,class,confidence,why
//
// Class and path are those of predictions.csv; `why` is a few words for people.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace protogcd {

struct LabelNext {
  std::string path, class_name;
  double confidence = 0;
  std::string why;
};

void write_label_next(const std::filesystem::path& file, const std::vector<LabelNext>& queue);
/// In the order of the file. DataError names file and line of what is wrong.
std::vector<LabelNext> read_label_next(const std::filesystem::path& file);

}  // namespace protogcd
