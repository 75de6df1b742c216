// `protogcd ood`: how well a model tells images of its classes from images of none; and the
// threshold by which `predict` flags outliers.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <memory>
#include <set>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/image_set.h"
#include "protogcd/discovery/as_published.h"
#include "protogcd/model/model_outputs.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/device.h"
#include "protogcd/studies/outlier_study.h"

namespace protogcd::cli {
namespace {

struct OodVerbOptions {
  std::filesystem::path model, backbone, out;
  std::string known, sampling = "all";
  std::vector<std::string> outliers, scores = {"msp", "mls", "energy"};
  std::int64_t repeats = 10;
  bool as_published = false, calibrate = false, overwrite = false;
  double keep = 0.95;
};

/// "texture=data/dtd/images" gives the set a name of its own in the tables; a name holds no / and :
ImageSet open_named_set(const std::string& text, Session& session) {
  const std::size_t equals = text.find('=');
  std::error_code ignored;
  const bool named = equals != std::string::npos && equals > 0 &&
                     text.find_first_of("/:") > equals && !std::filesystem::exists(text, ignored);
  ImageSet set = open_image_set(named ? text.substr(equals + 1) : text, session.context.log);
  if (named) set.name = text.substr(0, equals);
  return set;
}

at::Tensor cosines_of_set(const TrainedModel& model, const ImageSet& set, const std::string& flag,
                          Session& session, const Context& context) {
  SkippedFiles skipped(session.bad_image_policy(), set.sources.size());
  const at::Tensor cosines = cosines_of(model, set, skipped, context);
  skipped.check(set.sources);
  if (skipped.count() > 0) {
    const SkippedFile first = skipped.files().front();
    session.context.log.warning(fmt::format("{}: {} images could not be read, the first: {}: {}",
                                            set.name, skipped.count(),
                                            set.sources.path(first.source), first.reason));
  }
  if (cosines.size(0) == 0)
    throw DataError(fmt::format("{} {}: there is no image in it", flag, set.name));
  return cosines;
}

std::vector<OutlierScore> scores_of(const std::vector<std::string>& names) {
  std::vector<OutlierScore> scores;
  for (const std::string& name : names) {
    if (name == "all") {
      for (const std::string_view one : outlier_score_names())
        scores.push_back(find_outlier_score(one));
    } else {
      scores.push_back(find_outlier_score(name));
    }
  }
  return scores;
}

/// Files beside each other: DIR/ood.csv, .json and .md.
void write_tables(const OutlierStudy& study, const nlohmann::json& json,
                  const std::filesystem::path& folder) {
  write_file_atomically(folder / "ood.csv", study.to_csv());
  write_file_atomically(folder / "ood.md", study.to_markdown());
  write_file_atomically(folder / "ood.json",
                        json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_table(const OutlierStudy& study, const OodVerbOptions& options) {
  std::size_t width = 8;
  for (const std::string& name : study.sets) width = std::max(width, one_line(name).size());
  for (const OutlierRow& row : study.rows) {
    say("\n{:{}}   FPR95   AUROC  AUPR-IN  AUPR-OUT\n", name_of(row.score), width);
    const auto line = [&](const std::string& name, const OutlierMeasures& m) {
      say("{:{}}  {:6.2f}  {:6.2f}   {:6.2f}    {:6.2f}\n", name, width, 100 * m.fpr95_in,
          100 * m.auroc, 100 * m.aupr_in, 100 * m.aupr_out);
    };
    for (std::size_t i = 0; i < study.sets.size(); ++i) line(study.sets[i], row.sets[i].mean);
    if (study.sets.size() > 1) line("mean", row.mean);
  }
  if (!options.out.empty()) say("\n{}: ood.csv, ood.json, ood.md\n", options.out.string());
}

void check_options(const OodVerbOptions& options) {
  if (options.outliers.empty() && !options.calibrate) {
    throw UsageError("--outliers: no set of outliers is named",
                     "--calibrate alone sets the model's threshold");
  }
  if (options.calibrate && scores_of(options.scores).size() != 1) {
    throw UsageError("--calibrate takes one --score: the one that predictions will hold",
                     "as --score vmf");
  }
  if (options.calibrate && options.outliers.empty() && !options.out.empty())
    throw UsageError("--out is for tables of outliers, and no --outliers are named");
  if (!options.out.empty()) {
    create_folders(options.out);
    for (const char* name : {"ood.csv", "ood.md", "ood.json"})
      check_output_file(options.out / name, options.overwrite, "out");
  }
}

nlohmann::json calibrated(TrainedModel& model, const at::Tensor& known,
                          const OodVerbOptions& options) {
  const OutlierScore score = scores_of(options.scores).front();
  const auto rule = calibrate_outliers(model.info(), known, score, options.keep);
  model.set_outliers(rule);
  model.save_info(model_folder(options.model));
  return {{"score", name_of(score)},
          {"kept", options.keep},
          {"threshold", rule.threshold},
          {"images", known.size(0)}};
}

void ood(const OodVerbOptions& options, Session& session) {
  check_options(options);
  const ComputeSettings settings(session.context);
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const OutlierStudyOptions study_options{
      .scores = scores_of(options.scores),
      .sampling = options.sampling == "reference"  ? OutlierSampling::kReference
                  : options.sampling == "balanced" ? OutlierSampling::kBalanced
                                                   : OutlierSampling::kAll,
      .repeats = options.repeats,
      .seed = context.seed};
  // Names first: a mistyped folder should not cost the time of scoring the others.
  const ImageSet known_set = open_named_set(options.known, session);
  std::vector<ImageSet> sets;
  std::set<std::string> names;
  for (const std::string& text : options.outliers) {
    sets.push_back(open_named_set(text, session));
    if (!names.insert(sets.back().name).second) {
      throw UsageError(fmt::format("--outliers: two sets are called '{}'", sets.back().name),
                       "give one a name of its own: NAME=DIR");
    }
  }
  TrainedModel model = load_model(options.model, options.backbone, context);
  if (!options.calibrate) {  // an empty set of images is enough to learn that a score is unknown
    for (const OutlierScore score : study_options.scores)
      outlier_scores(model.info(), score, at::empty({0, model.info().k()}));
  }
  const at::Tensor known = cosines_of_set(model, known_set, "--id", session, context);

  nlohmann::json json = {{"model", options.model.string()},
                         {"known_images", known.size(0)},
                         {"sampling", options.sampling}};
  if (options.calibrate) json["calibration"] = calibrated(model, known, options);
  if (options.calibrate && !session.json()) {
    say("{}: images with a {} score above {:.6f} are outliers now\n", options.model.string(),
        options.scores.front(), json["calibration"]["threshold"].get<double>());
  }
  if (sets.empty()) {
    if (session.json()) session.print_json(json);
    return;
  }
  std::vector<NamedCosines> outliers;
  for (const ImageSet& set : sets)
    outliers.push_back({set.name, cosines_of_set(model, set, "--outliers", session, context)});
  const OutlierStudy study = study_outliers(model.info(), known, outliers, study_options);
  json["scores"] = study.to_json();
  if (!options.out.empty()) write_tables(study, json, options.out);
  if (session.json()) return session.print_json(json);
  say("{} images of known classes ({})\n", known.size(0), known_set.name);
  print_table(study, options);
}

}  // namespace

Verb ood_verb() {
  return {
      .name = "ood",
      .summary = "how well a model tells its classes from outliers; calibrates its threshold",
      .example = "protogcd ood --model run --id photos/test --outliers photos/other",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<OodVerbOptions>();
        table.add("model", &options->model, "the folder of a finished run")
            .value_name("RUN")
            .required();
        table.add("id", &options->known, "images of the model's classes: a folder, or NAME:ROOT")
            .value_name("DIR")
            .required();
        table
            .add("outliers", &options->outliers,
                 "sets of outliers: a folder, svhn:ROOT, or test images of a known dataset "
                 "(cifar10:ROOT, cub:ROOT, ...); NAME=SET names it in the table")
            .value_name("SET");
        std::vector<std::string> choices(outlier_score_names().begin(),
                                         outlier_score_names().end());
        choices.push_back("all");
        table.add("score", &options->scores, "how outlying an image is").one_of(choices);
        table
            .add("sampling", &options->sampling,
                 "all images; as the released code (a fifth as many outliers); or balanced, 1:1")
            .one_of({"all", "reference", "balanced"});
        table.add("as_published", &options->as_published,
                  "score and sampling of the published tables: MSP, 5:1 (docs/method.md)");
        table.when_read([options](OptionTable& read) {
          if (options->as_published) take(published_outlier_settings(), read);
        });
        table
            .add("repeats", &options->repeats, "random parts that are measured, where one is drawn")
            .at_least(1)
            .at_most(100000);
        table
            .add("calibrate", &options->calibrate,
                 "set the model's threshold for the first --score, on the images of --id")
            .flag_only();
        table.add("keep", &options->keep, "share of the images of --id that --calibrate keeps")
            .above(0)
            .at_most(1);
        table
            .add("backbone", &options->backbone,
                 "where the model's backbone is now, if it was moved")
            .value_name("FILE");
        table.add("out", &options->out, "a folder for ood.csv, ood.json and ood.md")
            .value_name("DIR");
        table.add("overwrite", &options->overwrite, "replace the tables that are there")
            .flag_only();
        return [options](Session& session) { ood(*options, session); };
      }};
}

}  // namespace protogcd::cli
