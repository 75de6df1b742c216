// All labels that a collection was given, round after round, and why. A run's folder keeps them:
//
//   labels.csv              path,class,given_by: every labelled image of the run; given_by is
//                           folder, manifest, dataset, or "correction 2" for the second round
//   correction-rounds.csv   round,action,path,class,is_new,target: what was said in all rounds
//
// A label of the data itself (folder, manifest) holds against one that corrections gave the same
// image: the data is what a person edits last. Renames and merges hold for the data's labels too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "protogcd/data/sample.h"
#include "protogcd/run/corrections.h"

namespace protogcd {

/// What a round of corrections came to.
struct RoundSummary {
  std::size_t labelled = 0;  ///< images that have a label by it
  /// New classes that were renamed or merged, but not accepted: nothing is labelled by that.
  struct Unaccepted {
    std::string class_name, called;
    std::size_t would_label = 0;  ///< if it was accepted
  };
  std::vector<Unaccepted> unaccepted;
};

/// What applying all rounds to a dataset came to.
struct AppliedLabels {
  std::size_t labelled = 0;              ///< unlabelled images of the data that carry a label now
  std::vector<std::string> new_classes;  ///< classes that had no labelled image in the data
  std::map<std::string, std::string> renamed;  ///< the data's classes that are called otherwise now
  std::size_t overruled = 0;                   ///< images that the data labels otherwise, and
  std::string overruled_example;               ///< one of them, in words
  std::size_t unmatched = 0;                   ///< labelled images that the data does not have
  std::string unmatched_example;
};

class LabelHistory {
 public:
  /// Of a run and all those before it; nothing was said before the first. Runs of older versions
  /// kept no labels.csv: the corrections that their config.toml names are read again.
  static LabelHistory of_run(const std::filesystem::path& run);

  /// One more round: corrections of this run's predictions.
  RoundSummary add_round(const std::filesystem::path& corrections,
                         const std::filesystem::path& run);

  /// Labels images of the dataset. Paths that it does not have are looked for below `images_root`,
  /// where one is given. DataError if corrections labelled images and the dataset has none of them.
  AppliedLabels apply(Dataset& dataset, const std::filesystem::path& images_root = {});

  /// Both files of a run on this dataset, to which the history was applied.
  /// Labels of images that the dataset does not have (any more) are kept, and said to be so.
  void write(const std::filesystem::path& run, const Dataset& dataset) const;

  std::int64_t rounds() const { return rounds_; }

 private:
  struct Given {
    std::string class_name;
    std::int64_t round;
  };
  struct Said {
    std::int64_t round;
    Correction correction;
  };

  static LabelHistory of_run(const std::filesystem::path& run, std::set<std::string>& later);
  CorrectedRun open_run(const std::filesystem::path& run) const;
  RoundSummary take_round(const std::vector<Correction>& round, const CorrectedRun& run);
  void read_rounds(const std::filesystem::path& file);
  void find_moved(const Dataset& dataset, const std::filesystem::path& images_root);
  std::map<std::uint32_t, std::string> match(const Dataset& dataset, AppliedLabels& applied);

  std::int64_t rounds_ = 0;
  std::map<std::string, Given> labels_;  ///< by comparable path
  std::vector<Said> said_;
  /// Classes by the names they have now, and the files that are not of them.
  std::map<std::string, std::set<std::string>> wrong_;
  std::map<std::string, std::string> names_;  ///< of classes that had labels: first -> now
};

struct GivenLabel {
  std::filesystem::path path;  ///< as a program can open it from here
  std::string class_name, given_by;
};

/// DataError if the run kept none.
std::vector<GivenLabel> read_labels(const std::filesystem::path& run);

}  // namespace protogcd
