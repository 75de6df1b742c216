// The tables of a corrected run (sections.h): a round of corrections is taken, or refused with an
// error of ours, and what the next run keeps of all rounds reads back as the same.
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/run_files.h"

namespace {

using namespace protogcd;
namespace fs = std::filesystem;

/// Earlier runs are named as seen from the working folder.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~InFolder() { fs::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

/// One labelled image and three that are not.
Dataset small_dataset() {
  Dataset dataset;
  dataset.labels_from = "folder";
  dataset.classes = {"cat"};
  dataset.old_classes = 1;
  const std::uint32_t folder = dataset.sources.add_folder("images");
  for (const char* name : {"a.png", "b.png", "c.png", "d.png"})
    dataset.samples.push_back({.source = dataset.sources.add_file(folder, name)});
  dataset.samples[0].set = SampleSet::kLabelled;
  dataset.samples[0].label = dataset.samples[0].truth = 0;
  return dataset;
}

/// The tables that a run on that dataset writes.
std::string written(LabelHistory history, const fs::path& run) {
  Dataset dataset = small_dataset();
  history.apply(dataset, "images");
  fs::create_directory(run);
  history.write(run, dataset);
  read_labels(run);
  const fs::path rounds = run / run_files::kRounds;
  return read_text_file(run / run_files::kLabels) +
         (fs::exists(rounds) ? read_text_file(rounds) : "");
}

}  // namespace

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr const char* kFiles[] = {run_files::kPredictions, run_files::kLabels, run_files::kRounds,
                                    run_files::kConfig, "corrections.csv"};
  const fuzz::SectionFolder run(data, size, kFiles);
  const InFolder there(run.path());
  try {
    LabelHistory history = LabelHistory::of_run(".");
    history.add_round("corrections.csv", ".");
    const std::string first = written(history, "next");
    if (written(LabelHistory::of_run("next"), "last") != first) __builtin_trap();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kInternal) __builtin_trap();
  }
  return 0;
}
