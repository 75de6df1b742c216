// `protogcd datasets make-demo`: the built-in dataset, drawn by code.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/drawn/demo_dataset.h"
#include "protogcd/image/encode.h"

namespace protogcd::cli {
namespace {

struct MakeDemoOptions {
  drawn::DemoOptions demo;
  std::filesystem::path sheet;
};

void make_demo(const MakeDemoOptions& options, Session& session) {
  constexpr int kSheetColumns = 16;
  const auto& demo = options.demo;
  if (!options.sheet.empty()) check_output_file(options.sheet, demo.overwrite, "sheet");
  const auto summary = drawn::write_demo_dataset(demo, session.context);
  if (!options.sheet.empty()) {
    write_png(options.sheet, drawn::demo_contact_sheet(kSheetColumns, static_cast<int>(demo.size),
                                                       session.context.seed));
  }
  if (session.json()) {
    session.print_json({{"out", demo.out.string()},
                        {"seed", session.context.seed},
                        {"old_classes", summary.old_classes},
                        {"new_classes", summary.new_classes},
                        {"outlier_classes", summary.outlier_classes},
                        {"labelled", summary.labelled},
                        {"unlabelled", summary.unlabelled},
                        {"outliers", summary.outliers}});
    return;
  }
  const std::string out = demo.out.string();
  say("{}/labelled     {:5} images of {} old classes, a folder each\n", out, summary.labelled,
      summary.old_classes);
  say("{}/unlabelled   {:5} images: the rest of the old classes, and {} new ones\n", out,
      summary.unlabelled, summary.new_classes);
  say("{}/outliers     {:5} images of {} classes that are in neither\n", out, summary.outliers,
      summary.outlier_classes);
  say("{}/truth.csv    the hidden labels, for evaluation alone\n", out);
}

}  // namespace

Verb datasets_make_demo_verb() {
  return {
      .name = "datasets make-demo",
      .summary = "draw the built-in dataset: 10 old, 6 new and 4 outlier categories",
      .example = "protogcd datasets make-demo --out demo --seed 1 --sheet demo-sheet.png",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<MakeDemoOptions>();
        table.add("out", &options->demo.out, "folder to write").value_name("DIR").required();
        table
            .add("overwrite", &options->demo.overwrite,
                 "replace an earlier demo dataset, and its sheet")
            .flag_only();
        table.add("per_class", &options->demo.per_class, "images of each category")
            .at_least(2)
            .at_most(1000000);
        table.add("size", &options->demo.size, "pixels along each side").at_least(16).at_most(1024);
        table.add("sheet", &options->sheet, "also write a contact sheet, one category a row")
            .value_name("FILE.png");
        return [options](Session& session) { make_demo(*options, session); };
      }};
}

}  // namespace protogcd::cli
