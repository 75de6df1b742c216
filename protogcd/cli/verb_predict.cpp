// `protogcd predict`: classes of images, by a trained model.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/image_set.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct PredictVerbOptions {
  std::filesystem::path model, backbone;
  std::string images;
  PredictOptions predict;
};

void predict(const PredictVerbOptions& options, Session& session) {
  check_output_file(options.predict.out, options.predict.overwrite, "out");
  const ComputeThreads compute_threads(session.context.threads);
  const ImageSet set = open_image_set(options.images, session.context.log);
  const TrainedModel model = load_model(options.model, options.backbone, session.context);
  const PredictSummary summary = write_predictions(model, set.sources, options.predict,
                                                   session.bad_image_policy(), session.context);
  const ModelInfo& info = model.info();
  std::uint64_t in_new = 0;
  nlohmann::ordered_json per_class;
  for (std::size_t k = 0; k < info.classes.size(); ++k) {
    per_class[info.classes[k]] = summary.per_class[k];
    if (info.is_new(static_cast<std::int64_t>(k))) in_new += summary.per_class[k];
  }
  if (session.json()) {
    session.print_json({{"out", options.predict.out.string()},
                        {"images", summary.images},
                        {"skipped", summary.skipped},
                        {"in_new_classes", in_new},
                        {"outliers", info.outliers ? nlohmann::json(summary.outliers) : nullptr},
                        {"classes", per_class},
                        {"seconds", summary.seconds}});
    return;
  }
  fmt::print("{}: {} images, {} of them in new classes, in {}\n", options.predict.out.string(),
             summary.images, in_new, human_seconds(summary.seconds));
  if (summary.outliers > 0) {
    fmt::print("{} of them look like none of the classes (is_outlier)\n", summary.outliers);
  }
  if (summary.skipped > 0)
    fmt::print("{} images skipped, see the .skipped.csv beside it\n", summary.skipped);
}

}  // namespace

Verb predict_verb() {
  return {.name = "predict",
          .summary = "classes of images, by a trained model",
          .example = "protogcd predict --model run --images photos --out predictions.csv",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<PredictVerbOptions>();
            table.add("model", &options->model, "the folder of a finished run")
                .value_name("RUN")
                .required();
            table.add("images", &options->images, "a folder of images (any nesting), or one image")
                .value_name("DIR")
                .required();
            table
                .add("backbone", &options->backbone,
                     "where the model's backbone is now, if it was moved")
                .value_name("FILE");
            table.add("out", &options->predict.out, "a table, or objects if it ends in .json")
                .value_name("FILE.csv")
                .required();
            table.add("overwrite", &options->predict.overwrite, "replace the output if it exists")
                .flag_only();
            return [options](Session& session) { predict(*options, session); };
          }};
}

}  // namespace protogcd::cli
