// `protogcd datasets make-shapes`: random shapes to pre-train a backbone on, drawn by code.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/drawn/shapes_dataset.h"
#include "protogcd/image/encode.h"

namespace protogcd::cli {
namespace {

struct MakeShapesOptions {
  drawn::ShapesOptions shapes;
  std::filesystem::path sheet;
};

void make_shapes(const MakeShapesOptions& options, Session& session) {
  constexpr int kSheetRows = 40, kSheetColumns = 16;
  const auto& shapes = options.shapes;
  if (!options.sheet.empty()) check_output_file(options.sheet, shapes.overwrite, "sheet");
  const auto classes = drawn::write_shapes_dataset(shapes, session.context);
  if (!options.sheet.empty()) {
    write_png(options.sheet,
              drawn::shapes_contact_sheet(classes, kSheetRows, kSheetColumns,
                                          static_cast<int>(shapes.size), session.context.seed));
  }
  if (session.json()) {
    session.print_json({{"out", shapes.out.string()},
                        {"seed", session.context.seed},
                        {"classes", shapes.classes},
                        {"images", shapes.classes * shapes.per_class}});
    return;
  }
  say("{}   {} images of {} shapes, a folder each\n", shapes.out.string(),
      shapes.classes * shapes.per_class, shapes.classes);
}

}  // namespace

Verb datasets_make_shapes_verb() {
  return {.name = "datasets make-shapes",
          .summary = "draw random shapes to pre-train on, none of them a category of the demo",
          .example =
              "protogcd datasets make-shapes --classes 200 --per-class 300 --seed 1 --out shapes",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<MakeShapesOptions>();
            drawn::ShapesOptions& shapes = options->shapes;
            table.add("out", &shapes.out, "folder to write").value_name("DIR").required();
            table
                .add("overwrite", &shapes.overwrite,
                     "replace an earlier shapes dataset, and its sheet")
                .flag_only();
            table.add("classes", &shapes.classes, "different shapes").at_least(2).at_most(5000);
            table.add("per_class", &shapes.per_class, "images of each shape")
                .at_least(1)
                .at_most(1000000);
            table.add("size", &shapes.size, "pixels along each side").at_least(16).at_most(1024);
            table.add("sheet", &options->sheet, "also write a contact sheet, one class a row")
                .value_name("FILE.png");
            return [options](Session& session) { make_shapes(*options, session); };
          }};
}

}  // namespace protogcd::cli
