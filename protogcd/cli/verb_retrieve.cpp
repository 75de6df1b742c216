// `protogcd retrieve`: the most and the least typical images of every class.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/image_set.h"
#include "protogcd/image/encode.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/device.h"
#include "protogcd/run/run_files.h"
#include "protogcd/studies/retrieval.h"

namespace protogcd::cli {
namespace {

struct RetrieveVerbOptions {
  std::filesystem::path model, backbone, out;
  std::string images;
  std::int64_t top = 3;
  bool overwrite = false;
};

/// The run's own predictions, or fresh ones of other images.
std::filesystem::path predictions_of(const RetrieveVerbOptions& options, Session& session) {
  if (options.images.empty()) {
    const auto file = options.model / run_files::kPredictions;
    if (!std::filesystem::exists(file)) {
      throw UsageError(fmt::format("{}: there are no predictions in it", options.model.string()),
                       "name images with --images");
    }
    return file;
  }
  const ComputeSettings settings(session.context);
  const ImageSet set = open_image_set(options.images, session.context.log);
  const auto file = options.out / "examples-predictions.csv";
  write_predictions(load_model(options.model, options.backbone, session.context), set.sources,
                    {.out = file, .overwrite = options.overwrite}, session.bad_image_policy(),
                    session.context);
  return file;
}

void write_csv(const std::filesystem::path& file, const std::vector<ClassExamples>& classes,
               const std::filesystem::path& folder) {
  CsvWriter writer(file, {"class", "is_new", "kind", "rank", "path", "typicality", "sheet_row"});
  const auto base = std::filesystem::weakly_canonical(file.parent_path());
  for (std::size_t k = 0; k < classes.size(); ++k) {
    const auto rows = [&](const char* kind, const std::vector<TypicalImage>& images) {
      for (std::size_t i = 0; i < images.size(); ++i) {
        const auto path = std::filesystem::weakly_canonical(folder / images[i].path);
        writer.row({classes[k].name, classes[k].is_new ? "1" : "0", kind, std::to_string(i + 1),
                    path.lexically_relative(base).generic_string(),
                    fmt::format("{:.6f}", images[i].typicality), std::to_string(k + 1)});
      }
    };
    rows("most", classes[k].most);
    rows("least", classes[k].least);
  }
  writer.commit();
}

void retrieve(const RetrieveVerbOptions& options, Session& session) {
  create_folders(options.out);
  for (const char* name : {"examples.csv", "examples.png"})
    check_output_file(options.out / name, options.overwrite, "out");
  const auto predictions = predictions_of(options, session);
  const auto top = static_cast<std::size_t>(options.top);
  const auto classes = find_examples(predictions, top);
  const auto folder = std::filesystem::absolute(predictions).parent_path();
  write_csv(options.out / "examples.csv", classes, folder);
  write_png(options.out / "examples.png", example_sheet(classes, top, folder, session.context.log));
  if (session.json()) {
    nlohmann::json json = {{"out", options.out.string()}, {"classes", nlohmann::json::array()}};
    for (const ClassExamples& one : classes) {
      const auto paths = [](const std::vector<TypicalImage>& images) {
        nlohmann::json list = nlohmann::json::array();
        for (const auto& image : images)
          list.push_back({{"path", image.path}, {"typicality", image.typicality}});
        return list;
      };
      json["classes"].push_back({{"name", one.name},
                                 {"is_new", one.is_new},
                                 {"images", one.images},
                                 {"most", paths(one.most)},
                                 {"least", paths(one.least)}});
    }
    return session.print_json(json);
  }
  say("{} classes; each row of {}: the {} most typical images, the {} least typical\n",
      classes.size(), (options.out / "examples.png").string(), top, top);
  say("their paths and the rows' classes: {}\n", (options.out / "examples.csv").string());
}

}  // namespace

Verb retrieve_verb() {
  return {.name = "retrieve",
          .summary = "the most and least typical images of every class",
          .example = "protogcd retrieve --model run --top 3 --out examples",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<RetrieveVerbOptions>();
            table.add("model", &options->model, "the folder of a finished run")
                .value_name("RUN")
                .required();
            table
                .add("images", &options->images,
                     "images to choose from: a folder, or NAME:ROOT; those of the run if not given")
                .value_name("DIR");
            table.add("top", &options->top, "images of each kind").at_least(1).at_most(1000);
            table
                .add("backbone", &options->backbone,
                     "where the model's backbone is now, if it was moved")
                .value_name("FILE");
            table.add("out", &options->out, "a folder for examples.csv and examples.png")
                .value_name("DIR")
                .required();
            table.add("overwrite", &options->overwrite, "replace what is there").flag_only();
            return [options](Session& session) { retrieve(*options, session); };
          }};
}

}  // namespace protogcd::cli
