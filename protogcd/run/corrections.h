// A person's corrections of a run (from its report page): a file of the page's, read and checked.
//
//   action,path,class,target
//   rename,,new-01,barn owl         what the class is called
//   merge,,new-02,new-01            its images are of the target
//   wrong,images/7.png,new-01,      the image is not of this class
//   accept,,new-01,                 its images are labelled: those at or above the class's median
//                                   typicality that nobody called wrong
//   accept,images/9.png,new-01,     one image, confirmed by eye
//   move,images/9.png,new-01,owl    one image, of another class: one of the run's or a new one
//
// Classes and paths are those of the run's predictions.csv; an image that earlier corrections
// labelled is called as in labels.csv. Of rows that contradict each other, the last holds.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace protogcd {

enum class CorrectionAction { kRename, kMerge, kWrong, kAccept, kMove };

struct Correction {
  CorrectionAction action;
  std::string file;  ///< comparable (source_table.h); empty where the whole class is meant
  std::string class_name, target;
  bool is_new = false;  ///< the class had no labelled image in its run
};

/// What a run says of its images, as far as corrections ask.
struct CorrectedRun {
  struct Image {
    std::string file;  ///< comparable
    double typicality;
  };
  struct Class {
    bool is_new = false;
    std::vector<Image> images;  ///< the unlabelled ones predicted to be of it
    /// The more typical half: those that an accepted class labels.
    std::vector<std::string> typical() const;
  };
  std::map<std::string, Class> classes;
  std::map<std::string, std::string> files;  ///< as the run's tables call them -> comparable
};

/// DataError names file and line where an action, class or path is unknown, or classes are merged
/// in a circle.
std::vector<Correction> read_corrections(const std::filesystem::path& file,
                                         const CorrectedRun& run);

std::string_view action_name(CorrectionAction action);
/// DataError names `where` if there is no such action.
CorrectionAction action_of(std::string_view name, const std::string& where);

/// What a class is called after the renames and merges of one round.
class NamesOfRound {
 public:
  void add(const Correction& correction);  ///< other actions change nothing
  /// Throws std::length_error if the class is merged in a circle.
  std::string of(std::string name) const;

 private:
  std::map<std::string, std::string> renamed_, merged_;
};

}  // namespace protogcd
