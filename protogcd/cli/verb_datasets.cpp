// `protogcd datasets list|info|split`: known datasets, and what is in one's data.
#include <fmt/core.h>

#include <array>
#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/data_options.h"
#include "protogcd/data/duplicates.h"

namespace protogcd::cli {
namespace {

constexpr SampleSet kSets[] = {SampleSet::kLabelled, SampleSet::kUnlabelled, SampleSet::kTest};

/// What evaluation knows of a sample's class; the label where there is one.
std::int32_t known_class(const Sample& sample) {
  return sample.label >= 0 ? sample.label : sample.truth;
}

void list_datasets(Session& session) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& info : benchmarks()) {
    rows.push_back({{"name", info.name},
                    {"title", info.title},
                    {"layout", info.layout},
                    {"k_old", info.old_classes},
                    {"k", info.classes},
                    {"labelled", info.labelled},
                    {"unlabelled", info.unlabelled},
                    {"test", info.test}});
  }
  if (session.json()) {
    session.print_json({{"datasets", rows}});
    return;
  }
  say("{:12} {:20} {:>6} {:>5} {:>9} {:>11} {:>7}\n", "name", "", "k_old", "k", "labelled",
      "unlabelled", "test");
  for (const auto& info : benchmarks()) {
    say("{:12} {:20} {:>6} {:>5} {:>9} {:>11} {:>7}\n             needs: {}\n", info.name,
        info.title, info.old_classes, info.classes, info.labelled, info.unlabelled, info.test,
        info.layout);
  }
}

/// Counts per class: one number for each set.
std::vector<std::array<std::size_t, 3>> class_counts(const Dataset& dataset) {
  std::vector<std::array<std::size_t, 3>> counts(dataset.classes.size());
  for (const auto& sample : dataset.samples) {
    const std::int32_t label = known_class(sample);
    if (label >= 0) ++counts[label][static_cast<std::size_t>(sample.set)];
  }
  return counts;
}

nlohmann::json describe(const Dataset& dataset) {
  nlohmann::json summary = {{"name", dataset.name},
                            {"k_old", dataset.old_classes},
                            {"k", dataset.classes.size()},
                            {"warnings", dataset.warnings},
                            {"notes", dataset.notes}};
  for (const SampleSet set : kSets) summary[sample_set_name(set)] = dataset.count(set);
  const auto counts = class_counts(dataset);
  summary["classes"] = nlohmann::json::array();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    summary["classes"].push_back({{"label", i},
                                  {"name", dataset.classes[i]},
                                  {"known", i < dataset.old_classes ? "old" : "new"},
                                  {"labelled", counts[i][0]},
                                  {"unlabelled", counts[i][1]},
                                  {"test", counts[i][2]}});
  }
  return summary;
}

nlohmann::json duplicate_groups(const Dataset& dataset, const DuplicateReport& report) {
  nlohmann::json groups = nlohmann::json::array();
  for (const auto& group : report.groups) {
    nlohmann::json paths = nlohmann::json::array();
    for (const std::size_t sample : group) {
      paths.push_back(dataset.sources.path(dataset.samples[sample].source));
    }
    groups.push_back(paths);
  }
  return groups;
}

void print_summary(const Dataset& dataset, const DuplicateReport& duplicates) {
  say("{}\n", dataset.name);
  for (const SampleSet set : kSets) {
    const std::size_t count = dataset.count(set);
    const bool none = set == SampleSet::kTest && count == 0;
    say("  {:11} {}\n", sample_set_name(set), none ? "none" : fmt::format("{}", count));
  }
  say("  {:11} {} old, {} new\n", "classes", dataset.old_classes,
      dataset.classes.size() - dataset.old_classes);
  say("  {:11} {} copies in {} groups\n", "duplicates", duplicates.extra_files(),
      duplicates.groups.size());
  if (!duplicates.unreadable.empty()) {
    say("  {:11} {} files, the first: {}\n", "unreadable", duplicates.unreadable.size(),
        duplicates.unreadable.front());
  }
  if (dataset.classes.empty()) return;
  say("\n{:>5}  {:5} {:>9} {:>11} {:>6}  {}\n", "label", "known", "labelled", "unlabelled", "test",
      "class");
  const auto counts = class_counts(dataset);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    say("{:>5}  {:5} {:>9} {:>11} {:>6}  {}\n", i, i < dataset.old_classes ? "old" : "new",
        counts[i][0], counts[i][1], counts[i][2], dataset.classes[i]);
  }
}

void show_info(Session& session, const DataOptions& options) {
  const Dataset dataset = open_data(options, session.context.log);
  const DuplicateReport duplicates = find_duplicates(dataset);
  if (session.json()) {
    nlohmann::json summary = describe(dataset);
    summary["duplicates"] = duplicate_groups(dataset, duplicates);
    summary["unreadable"] = duplicates.unreadable;
    session.print_json(summary);
    return;
  }
  print_summary(dataset, duplicates);
}

struct SplitOptions {
  DataOptions data;
  std::filesystem::path csv;
  bool overwrite = false;
};

void write_split(Session& session, const SplitOptions& options) {
  check_output_file(options.csv, options.overwrite, "csv");
  const Dataset dataset = open_data(options.data, session.context.log);
  CsvWriter writer(options.csv, {"path", "label", "class", "known", "set"});
  CsvPaths paths(options.csv);
  for (const auto& sample : dataset.samples) {
    const std::int32_t label = known_class(sample);
    writer.row({paths(dataset.sources, sample.source), label >= 0 ? fmt::format("{}", label) : "",
                std::string(dataset.class_name(label)),
                label < 0 ? "" : (dataset.is_old(label) ? "old" : "new"),
                std::string(sample_set_name(sample.set))});
  }
  writer.commit();
  if (session.json()) {
    nlohmann::json summary = {{"csv", options.csv.string()},
                              {"k_old", dataset.old_classes},
                              {"k", dataset.classes.size()}};
    for (const SampleSet set : kSets) summary[sample_set_name(set)] = dataset.count(set);
    session.print_json(summary);
    return;
  }
  say("{}: {} labelled, {} unlabelled, {} test\n", options.csv.string(),
      dataset.count(SampleSet::kLabelled), dataset.count(SampleSet::kUnlabelled),
      dataset.count(SampleSet::kTest));
}

}  // namespace

Verb datasets_list_verb() {
  return {.name = "datasets list",
          .summary = "the datasets known by name, with the folders they need",
          .example = "protogcd datasets list",
          .declare = [](OptionTable&) -> Action { return list_datasets; }};
}

Verb datasets_info_verb() {
  return {.name = "datasets info",
          .summary = "counts per set and class, and duplicate files",
          .example = "protogcd datasets info --labelled birds/labelled --unlabelled birds/rest",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<DataOptions>();
            declare_data_options(table, *options);
            return [options](Session& session) { show_info(session, *options); };
          }};
}

Verb datasets_split_verb() {
  return {
      .name = "datasets split",
      .summary = "write which image is in which set, as path,label,class,known,set",
      .example = "protogcd datasets split --dataset cub --root data/cub --csv cub.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<SplitOptions>();
        declare_data_options(table, options->data);
        table.add("csv", &options->csv, "the file to write").value_name("FILE.csv").required();
        table.add("overwrite", &options->overwrite, "replace the file if it exists").flag_only();
        return [options](Session& session) { write_split(session, *options); };
      }};
}

}  // namespace protogcd::cli
