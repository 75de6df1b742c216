// `protogcd predict`: classes of images, by a trained model.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/shard_option.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/image_set.h"
#include "protogcd/model/prediction.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct PredictVerbOptions {
  std::filesystem::path model, backbone;
  std::string images, shard;
  PredictOptions predict;
};

/// Without an output, the table is the answer.
void print_predictions(const TrainedModel& model, const SourceTable& sources,
                       const PredictOptions& options, Session& session) {
  const ProbabilityColumns more_columns(options.probabilities, model.info().classes);
  SkippedFiles skipped(session.bad_image_policy(), sources.size());
  nlohmann::json rows = nlohmann::json::array();
  if (!session.json())
    say_data(fmt::format("path,class,is_new,confidence,is_outlier{}\n", more_columns.header()));
  const auto print = [&](const PredictedBatch& batch) {
    for (std::size_t i = 0; i < batch.sources.size(); ++i) {
      const PredictedImage image =
          batch.predictions.row(sources.path(batch.sources[i]), i, model.info());
      if (session.json()) {
        nlohmann::ordered_json row = {{"path", image.path},
                                      {"class", image.class_name},
                                      {"is_new", image.is_new},
                                      {"confidence", image.confidence}};
        if (image.is_outlier) row["is_outlier"] = *image.is_outlier;
        more_columns.add_to(row, batch.predictions.posterior_of(i));
        rows.push_back(nlohmann::json(row));
      } else {
        say_data(fmt::format("{},{},{},{:.6f},{}{}\n", csv_field(image.path),
                             csv_field(image.class_name), image.is_new ? 1 : 0, image.confidence,
                             !image.is_outlier   ? ""
                             : *image.is_outlier ? "1"
                                                 : "0",
                             more_columns.fields(batch.predictions.posterior_of(i))));
      }
    }
  };
  predict_images(model, sources, skipped, session.context, print, options.shard);
  if (session.json()) session.print_json({{"predictions", rows}, {"skipped", skipped.count()}});
  for (const SkippedFile& bad : skipped.files()) {
    session.context.log.warning(fmt::format("{}: {}", sources.path(bad.source), bad.reason));
  }
  skipped.check(sources);
}

void predict(PredictVerbOptions options, Session& session) {
  options.predict.shard = Shard::parse(options.shard);
  if (options.predict.resume && !options.predict.shard) {
    throw UsageError(fmt::format("{}: only a shard can be left as it is", option_name("resume")),
                     fmt::format("cut the list with {} i/n", option_name("shard")));
  }
  if (!options.predict.out.empty() && !options.predict.shard)
    check_output_file(options.predict.out, options.predict.overwrite, "out");
  const ComputeSettings settings(session.context);
  const ImageSet set = open_image_set(options.images, session.context.log);
  const TrainedModel model = load_model(options.model, options.backbone, session.context);
  if (options.predict.out.empty()) {
    return print_predictions(model, set.sources, options.predict, session);
  }
  const PredictSummary summary = write_predictions(model, set.sources, options.predict,
                                                   session.bad_image_policy(), session.context);
  if (summary.was_finished) return tell_finished_shard(summary.out, session);
  const ModelInfo& info = model.info();
  std::uint64_t in_new = 0;
  nlohmann::ordered_json per_class;
  for (std::size_t k = 0; k < info.classes.size(); ++k) {
    per_class[info.classes[k]] = summary.per_class[k];
    if (info.is_new(static_cast<std::int64_t>(k))) in_new += summary.per_class[k];
  }
  if (session.json()) {
    session.print_json({{"out", summary.out.string()},
                        {"images", summary.images},
                        {"skipped", summary.skipped},
                        {"in_new_classes", in_new},
                        {"outliers", info.outliers ? nlohmann::json(summary.outliers) : nullptr},
                        {"classes", per_class},
                        {"seconds", summary.seconds}});
    return;
  }
  say("{}: {} images, {} of them in new classes, in {}\n", summary.out.string(), summary.images,
      in_new, human_seconds(summary.seconds));
  if (summary.outliers > 0) {
    const OutlierCalibration& rule = *info.outliers;
    say("{} of them are less typical than {:.0f}% of the {} (is_outlier)\n", summary.outliers,
        100 * rule.kept,
        rule.held_out ? "labelled images that training did not see"
                      : "unlabelled images of the run");
  }
  if (summary.skipped > 0)
    say("{} images skipped, see the .skipped.csv beside it\n", summary.skipped);
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
            table
                .add("out", &options->predict.out,
                     "a table, or objects if it ends in .json; printed if not given")
                .value_name("FILE.csv");
            table
                .add("probabilities", &options->predict.probabilities,
                     "also the probabilities of all classes, or of the N likeliest")
                .value_name("all|N")
                .matching(ProbabilityColumns::is_wanted, "all or a number of classes, from 1");
            table.add("overwrite", &options->predict.overwrite, "replace the output if it exists")
                .flag_only();
            declare_shard(table, options->shard);
            table.add("resume", &options->predict.resume, "leave a shard that is finished as it is")
                .flag_only();
            return [options](Session& session) { predict(*options, session); };
          }};
}

}  // namespace protogcd::cli
