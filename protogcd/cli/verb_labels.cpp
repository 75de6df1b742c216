// `protogcd labels`: every label that a run was given, and by whom.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/run/label_history.h"

namespace protogcd::cli {
namespace {

struct LabelsVerbOptions {
  std::filesystem::path run, out;
  bool overwrite = false;
};

const std::vector<std::string> kHeader = {"path", "class", "given_by"};

void write_table(const std::vector<GivenLabel>& labels, const std::filesystem::path& out) {
  CsvWriter writer(out, kHeader);
  const std::filesystem::path base = std::filesystem::absolute(out).parent_path();
  for (const GivenLabel& label : labels) {
    const std::filesystem::path path = std::filesystem::absolute(label.path);
    writer.row({path.lexically_proximate(base).generic_string(), label.class_name, label.given_by});
  }
  writer.commit();
}

void print_table(const std::vector<GivenLabel>& labels) {
  say_data("path,class,given_by\n");
  for (const GivenLabel& label : labels) {
    say_data(fmt::format("{},{},{}\n", csv_field(label.path.generic_string()),
                         csv_field(label.class_name), csv_field(label.given_by)));
  }
}

void show_labels(const LabelsVerbOptions& options, Session& session) {
  if (!std::filesystem::is_directory(options.run))
    throw UsageError(fmt::format("RUN: there is no folder '{}'", options.run.string()));
  const std::vector<GivenLabel> labels = read_labels(options.run);
  if (!options.out.empty()) {
    check_output_file(options.out, options.overwrite, "out");
    write_table(labels, options.out);
  }
  if (session.json()) {
    nlohmann::json rows = nlohmann::json::array();
    for (const GivenLabel& label : labels) {
      rows.push_back({{"path", label.path.string()},
                      {"class", label.class_name},
                      {"given_by", label.given_by}});
    }
    return session.print_json(rows);
  }
  if (options.out.empty()) return print_table(labels);
  say("{}: {} labels\n", options.out.string(), labels.size());
}

}  // namespace

Verb labels_verb() {
  return {.name = "labels",
          .summary = "every label that a run was given: by folder, manifest or corrections",
          .example = "protogcd labels run-3 --out labels.csv",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<LabelsVerbOptions>();
            table.add("run", &options->run, "the folder of a run")
                .value_name("RUN")
                .positional()
                .required();
            table.add("out", &options->out, "a table for the list; printed if not given")
                .value_name("FILE.csv");
            table.add("overwrite", &options->overwrite, "replace what is there").flag_only();
            return [options](Session& session) { show_labels(*options, session); };
          }};
}

}  // namespace protogcd::cli
