#include "protogcd/run/label_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/options.h"
#include "protogcd/core/text.h"
#include "protogcd/data/source_table.h"
#include "protogcd/run/moved_images.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kByCorrection = "correction ";
constexpr std::string_view kNotThere = " (image not in this run)";

std::string given_by_round(std::int64_t round) {
  return fmt::format("{}{}", kByCorrection, round);
}

std::optional<std::int64_t> round_in(std::string_view text) {
  constexpr std::int64_t kMostRounds = 1'000'000;
  const auto number = parse_integer(text);
  return number && *number > 0 && *number <= kMostRounds ? number : std::nullopt;
}

/// The round of a label that corrections gave, as labels.csv has it.
std::optional<std::int64_t> round_of(std::string_view given_by) {
  if (!given_by.starts_with(kByCorrection)) return std::nullopt;
  given_by.remove_prefix(kByCorrection.size());
  return round_in(given_by.substr(0, given_by.find(' ')));
}

/// A path in a table of the run, as a person would type it there.
std::string path_in_run(const std::string& comparable, const fs::path& run) {
  const fs::path relative = fs::path(comparable).lexically_relative(comparable_path(run));
  return relative.empty() ? comparable : relative.generic_string();
}

/// Old classes of the dataset by the names they have now, then accepted ones, then those that only
/// hidden labels name; every number of a sample follows.
void number_again(Dataset& dataset, const std::map<std::string, std::string>& names,
                  const std::map<std::uint32_t, std::string>& labels) {
  std::vector<std::string> classes;
  const auto number_of = [&](const std::string& name) {
    const auto found = std::ranges::find(classes, name);
    if (found != classes.end()) return static_cast<std::int32_t>(found - classes.begin());
    classes.push_back(name);
    return static_cast<std::int32_t>(classes.size() - 1);
  };
  const auto name_now = [&](std::size_t number) {
    const auto found = names.find(dataset.classes[number]);
    return found == names.end() ? dataset.classes[number] : found->second;
  };
  for (std::size_t i = 0; i < dataset.old_classes; ++i) number_of(name_now(i));
  for (const Sample& sample : dataset.samples) {
    const auto given = labels.find(sample.source);
    if (given != labels.end()) number_of(given->second);
  }
  const std::size_t old_classes = classes.size();
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < dataset.classes.size(); ++i)
    numbers.push_back(number_of(name_now(i)));
  for (Sample& sample : dataset.samples) {
    if (sample.label >= 0) sample.label = numbers[static_cast<std::size_t>(sample.label)];
    if (sample.truth >= 0) sample.truth = numbers[static_cast<std::size_t>(sample.truth)];
    const auto given = labels.find(sample.source);
    if (given == labels.end()) continue;
    sample.set = SampleSet::kLabelled;
    sample.label = sample.truth = number_of(given->second);
  }
  dataset.classes = std::move(classes);
  dataset.old_classes = old_classes;
  dataset.order_by_set();
}

[[noreturn]] void throw_none_matches(std::size_t labels, const std::string& example,
                                     const fs::path& images_root) {
  throw DataError(
      fmt::format(
          "corrections labelled {} images, and none of them is among the images given now; "
          "looked for {} and others{}",
          labels, example,
          images_root.empty() ? "" : fmt::format(", there and below {}", images_root.string())),
      fmt::format("if the images were moved, say where they are now: {} DIR",
                  option_name("images_root")));
}

}  // namespace

CorrectedRun LabelHistory::open_run(const fs::path& run) const {
  const PredictionsTable table = PredictionsTable::read(run / run_files::kPredictions);
  CorrectedRun opened;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string file = comparable_path(run / table.path(i));
    opened.files[table.path(i)] = file;
    CorrectedRun::Class& found = opened.classes[table.class_name(i)];
    found.is_new = table.is_new(i);
    found.images.push_back({file, table.typicality(i)});
  }
  // Labelled images have no predictions, yet their classes may be renamed, and corrections undone.
  if (fs::exists(run / run_files::kLabels)) {
    const CsvTable labels = CsvTable::read(run / run_files::kLabels);
    for (const CsvRow& row : labels.rows()) {
      opened.classes[row.fields[labels.column("class")]].is_new = false;
      const std::string& path = row.fields[labels.column("path")];
      if (round_of(row.fields[labels.column("given_by")]))
        opened.files[path] = comparable_path(run / path);
    }
  }
  return opened;
}

LabelHistory LabelHistory::of_run(const fs::path& run) {
  std::set<std::string> later;
  return of_run(run, later);
}

/// `later`: the runs that name this one, each by the next, as the one before.
LabelHistory LabelHistory::of_run(const fs::path& run, std::set<std::string>& later) {
  LabelHistory history;
  const fs::path file = run / run_files::kLabels;
  if (!fs::exists(file)) {
    if (!fs::exists(run / run_files::kConfig)) return history;
    const auto config = toml_scalars(run / run_files::kConfig);
    const auto corrections = config.find("corrections"), previous = config.find("previous");
    if (corrections == config.end() || corrections->second.empty()) return history;
    if (previous == config.end() || !later.insert(fs::weakly_canonical(run).string()).second) {
      throw DataError(fmt::format("{}: corrections, but of no run before it",
                                  (run / run_files::kConfig).string()));
    }
    history = of_run(previous->second, later);
    history.add_round(corrections->second, previous->second);
    return history;
  }
  history.read_rounds(run / run_files::kRounds);
  const CsvTable table = CsvTable::read(file);
  const std::size_t path = table.column("path"), name = table.column("class"),
                    given_by = table.column("given_by");
  for (const CsvRow& row : table.rows()) {
    const auto round = round_of(row.fields[given_by]);
    if (round)
      history.labels_[comparable_path(run / row.fields[path])] = {row.fields[name], *round};
  }
  return history;
}

/// Renames, and what is not of a class; the labels of those rounds stand in labels.csv.
void LabelHistory::read_rounds(const fs::path& file) {
  if (!fs::exists(file)) return;
  const CsvTable table = CsvTable::read(file);
  std::map<std::int64_t, std::vector<Correction>> rounds;
  for (const CsvRow& row : table.rows()) {
    const auto field = [&](const char* column) { return row.fields[table.column(column)]; };
    const auto round = round_in(field("round"));
    if (!round)
      throw DataError(fmt::format("{}: '{}' is no round", table.where(row), field("round")));
    rounds[*round].push_back(
        {.action = action_of(field("action"), table.where(row)),
         .file = field("path").empty() ? "" : comparable_path(file.parent_path() / field("path")),
         .class_name = field("class"),
         .target = field("target"),
         .is_new = field("is_new") == "1"});
  }
  const CorrectedRun nothing_to_label;
  for (const auto& [round, corrections] : rounds) {
    rounds_ = round - 1;
    try {
      take_round(corrections, nothing_to_label);
    } catch (const std::length_error& name) {
      throw DataError(
          fmt::format("{}: class '{}' is merged in a circle", file.string(), name.what()));
    }
  }
  labels_.clear();
}

RoundSummary LabelHistory::add_round(const fs::path& corrections, const fs::path& run) {
  const CorrectedRun opened = open_run(run);
  return take_round(read_corrections(corrections, opened), opened);
}

RoundSummary LabelHistory::take_round(const std::vector<Correction>& round,
                                      const CorrectedRun& run) {
  ++rounds_;
  NamesOfRound names;
  std::set<std::string> accepted;
  std::set<std::pair<std::string, std::string>> wrong_now;  // class as in the run, and file
  for (const Correction& correction : round) {
    names.add(correction);
    if (correction.action == CorrectionAction::kAccept) accepted.insert(correction.class_name);
    if (correction.action == CorrectionAction::kWrong)
      wrong_now.insert({correction.class_name, correction.file});
    said_.push_back({rounds_, correction});
  }
  // What was said before, by the names of now.
  for (auto& [file, given] : labels_) given.class_name = names.of(given.class_name);
  std::map<std::string, std::set<std::string>> wrong;
  for (const auto& [name, files] : wrong_) wrong[names.of(name)].insert(files.begin(), files.end());
  for (auto& [first, now] : names_) now = names.of(now);
  for (const Correction& correction : round) {
    const std::string now = names.of(correction.class_name);
    if (!correction.is_new && now != correction.class_name)
      names_.try_emplace(correction.class_name, now);
  }

  RoundSummary summary;
  const auto label = [&](const std::string& file, const std::string& name) {
    labels_[file] = {name, rounds_};
  };
  for (const std::string& name : accepted) {
    const auto found = run.classes.find(name);
    const bool whole = std::ranges::any_of(round, [&](const Correction& correction) {
      return correction.action == CorrectionAction::kAccept && correction.file.empty() &&
             correction.class_name == name;
    });
    if (!whole || found == run.classes.end()) continue;
    const std::string now = names.of(name);
    for (const std::string& file : found->second.typical()) {
      if (!wrong_now.contains({name, file}) && !wrong[now].contains(file)) label(file, now);
    }
  }
  for (const Correction& correction : round) {  // image by image, after classes
    const std::string now = names.of(correction.class_name);
    if (correction.file.empty()) continue;
    if (correction.action == CorrectionAction::kAccept) {
      label(correction.file, now);
    } else if (correction.action == CorrectionAction::kMove) {
      label(correction.file, names.of(correction.target));
    } else {
      const auto given = labels_.find(correction.file);
      if (given != labels_.end() && given->second.class_name == now) labels_.erase(given);
      // A class that nobody named, accepted or labelled is another one in the next run.
      if (!correction.is_new || now != correction.class_name || accepted.contains(now))
        wrong[now].insert(correction.file);
    }
  }
  wrong_ = std::move(wrong);
  summary.labelled = static_cast<std::size_t>(std::ranges::count_if(
      labels_, [&](const auto& entry) { return entry.second.round == rounds_; }));
  for (const auto& [name, found] : run.classes) {
    const std::string now = names.of(name);
    if (found.is_new && now != name && !accepted.contains(name))
      summary.unaccepted.push_back({name, now, found.typical().size()});
  }
  return summary;
}

/// Images that the dataset has elsewhere get the paths they have now.
void LabelHistory::find_moved(const Dataset& dataset, const fs::path& images_root) {
  if (images_root.empty()) return;
  std::set<std::string> there;
  for (const Sample& sample : dataset.samples)
    there.insert(comparable_path(dataset.sources.path(sample.source)));
  std::vector<fs::path> files;
  for (const auto& [file, given] : labels_) files.emplace_back(file);
  const LocatedImages located =
      locate_images(files, fs::absolute(images_root),
                    [&](const auto& path) { return there.contains(comparable_path(path)); });
  std::map<std::string, std::string> now;
  for (std::size_t i = 0; i < files.size(); ++i)
    now[files[i].string()] = comparable_path(located.files[i]);
  std::map<std::string, Given> moved;
  for (auto& [file, given] : labels_) moved[now[file]] = std::move(given);
  labels_ = std::move(moved);
  const auto place_now = [&](const std::string& file) {
    return now.contains(file) ? now[file] : file;
  };
  for (auto& [name, files_of] : wrong_) {
    std::set<std::string> placed;
    for (const std::string& file : files_of) placed.insert(place_now(file));
    files_of = std::move(placed);
  }
  for (Said& said : said_) said.correction.file = place_now(said.correction.file);
}

std::map<std::uint32_t, std::string> LabelHistory::match(const Dataset& dataset,
                                                         AppliedLabels& applied) {
  std::map<std::uint32_t, std::string> labels;
  std::set<std::string> found;
  for (const Sample& sample : dataset.samples) {
    const auto given = labels_.find(comparable_path(dataset.sources.path(sample.source)));
    if (given == labels_.end()) continue;
    found.insert(given->first);
    if (sample.set == SampleSet::kUnlabelled) {
      labels[sample.source] = given->second.class_name;
    } else if (sample.set == SampleSet::kLabelled) {
      const std::string before(dataset.class_name(sample.label));
      const auto renamed = names_.find(before);
      const std::string& name = renamed == names_.end() ? before : renamed->second;
      if (name != given->second.class_name && applied.overruled++ == 0) {
        applied.overruled_example =
            fmt::format("{}: '{}', not '{}'", given->first, name, given->second.class_name);
      }
      labels_.erase(given);
    }
  }
  for (const auto& [file, given] : labels_) {
    if (found.contains(file)) continue;
    if (applied.unmatched++ == 0) applied.unmatched_example = file;
  }
  applied.labelled = labels.size();
  return labels;
}

AppliedLabels LabelHistory::apply(Dataset& dataset, const fs::path& images_root) {
  find_moved(dataset, images_root);
  AppliedLabels applied;
  const std::size_t had = labels_.size();
  const auto labels = match(dataset, applied);
  if (had > 0 && applied.unmatched == had)
    throw_none_matches(had, applied.unmatched_example, images_root);
  for (std::size_t i = 0; i < dataset.old_classes; ++i) {
    const auto renamed = names_.find(dataset.classes[i]);
    if (renamed != names_.end()) applied.renamed.insert(*renamed);
  }
  std::set<std::string> before;
  for (const std::string& name : dataset.old_names())
    before.insert(names_.contains(name) ? names_[name] : name);
  number_again(dataset, names_, labels);
  for (const std::string& name : dataset.old_names())
    if (!before.contains(name)) applied.new_classes.push_back(name);
  return applied;
}

void LabelHistory::write(const fs::path& run, const Dataset& dataset) const {
  const fs::path file = run / run_files::kLabels;
  CsvWriter labels(file, {"path", "class", "given_by"});
  CsvPaths paths(file);
  std::set<std::string> there;
  for (const Sample& sample : dataset.samples) {
    if (sample.set != SampleSet::kLabelled && sample.set != SampleSet::kCalibration) continue;
    const std::string comparable = comparable_path(dataset.sources.path(sample.source));
    const auto given = labels_.find(comparable);
    if (given != labels_.end()) there.insert(comparable);
    labels.row(
        {paths(dataset.sources, sample.source), std::string(dataset.class_name(sample.truth)),
         given == labels_.end() ? dataset.labels_from : given_by_round(given->second.round)});
  }
  for (const auto& [path, given] : labels_) {
    if (there.contains(path)) continue;
    labels.row({path_in_run(path, run), given.class_name,
                given_by_round(given.round) + std::string(kNotThere)});
  }
  labels.commit();
  if (said_.empty()) return;
  CsvWriter rounds(run / run_files::kRounds,
                   {"round", "action", "path", "class", "is_new", "target"});
  for (const auto& [round, correction] : said_) {
    rounds.row({std::to_string(round), std::string(action_name(correction.action)),
                correction.file.empty() ? "" : path_in_run(correction.file, run),
                correction.class_name, correction.is_new ? "1" : "0", correction.target});
  }
  rounds.commit();
}

std::vector<GivenLabel> read_labels(const fs::path& run) {
  const fs::path file = run / run_files::kLabels;
  if (!fs::exists(file)) {
    throw DataError(fmt::format("{}: the run kept no labels", file.string()),
                    "runs of versions before 0.2 did not");
  }
  const CsvTable table = CsvTable::read(file);
  const std::size_t path = table.column("path"), name = table.column("class"),
                    given_by = table.column("given_by");
  std::vector<GivenLabel> labels;
  for (const CsvRow& row : table.rows())
    labels.push_back(
        {(run / row.fields[path]).lexically_normal(), row.fields[name], row.fields[given_by]});
  return labels;
}

}  // namespace protogcd
