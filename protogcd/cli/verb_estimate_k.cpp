// `protogcd estimate-k`: how many classes are there among half-labelled images?
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/discovery/class_number_baselines.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/nn/device.h"

namespace protogcd::cli {
namespace {

struct EstimateVerbOptions {
  DiscoverOptions model;
  std::filesystem::path curve;
  std::int64_t curve_points = 15;
  bool compare = false, overwrite = false;
};

struct Method {
  std::string name;
  std::int64_t k = 0;
  std::string interval;
  double seconds = 0;
};

Method as_method(const std::string& name, const ClassNumber& found) {
  return {name, found.k, fmt::format("{}-{}", found.low, found.high), found.seconds};
}

class EstimateVerb {
 public:
  EstimateVerb(const EstimateVerbOptions& options, const Context& context, Session& session)
      : options_(options),
        context_(context),
        how_(estimate_of(options.model.train)),
        backbone_(open_backbone(options.model.backbone, session.context.log)),
        material_(open_data(options.model.data, session.context.log), backbone_,
                  options.model.train.material, folder_ / "estimate", session.bad_image_policy(),
                  context) {}

  ClassNumber estimate() { return estimate_class_number(material_, backbone_, how_, context_); }

  /// The other rule, where there are the labelled images that one of them needs, and the baselines.
  std::vector<Method> others() {
    std::vector<Method> methods;
    if (material_.set().dataset().old_classes > 0) {
      ClassNumberOptions other = how_;
      const bool was_paper = how_.rule == ClassNumberRule::kPaper;
      other.rule = was_paper ? ClassNumberRule::kClusters : ClassNumberRule::kPaper;
      methods.push_back(as_method(was_paper ? "clusters" : "Algorithm 1",
                                  estimate_class_number(material_, backbone_, other, context_)));
    }
    for (auto& [name, k, seconds] : baseline_class_numbers(
             untrained_candidate(material_, backbone_, context_), labelled_classes(material_.set()),
             static_cast<std::int64_t>(material_.set().dataset().old_classes),
             largest_class_number(material_.set(), how_), context_)) {
      methods.push_back({name, k, "", seconds});
    }
    return methods;
  }

  std::vector<ClassNumberPoint> curve() {
    const auto low =
        std::max<std::int64_t>(static_cast<std::int64_t>(material_.set().dataset().old_classes), 1);
    const std::int64_t high = largest_class_number(material_.set(), how_);
    const std::int64_t points = std::min(options_.curve_points, high - low + 1);
    std::vector<std::int64_t> ks;
    for (std::int64_t i = 0; i < points; ++i)
      ks.push_back(points == 1 ? low : low + (high - low) * i / (points - 1));
    return class_number_curve(material_, backbone_, how_, ks, context_);
  }

  /// Classes that the hidden labels name, if there are any.
  std::optional<std::int64_t> truth() const {
    const Dataset& dataset = material_.set().dataset();
    if (dataset.classes.size() == dataset.old_classes) return std::nullopt;
    return static_cast<std::int64_t>(dataset.classes.size());
  }

 private:
  const EstimateVerbOptions& options_;
  const Context& context_;
  ClassNumberOptions how_;
  ScratchFolder folder_;  ///< for a bank that memory has no room for
  Backbone backbone_;
  TrainingMaterial material_;
};

void write_curve(const std::filesystem::path& file, const std::vector<ClassNumberPoint>& points) {
  CsvWriter csv(file, {"k", "frozen_accuracy", "silhouette", "acc_score", "log_centr_score",
                       "log_proto_score"});
  for (const ClassNumberPoint& point : points) {
    const auto number = [](double value) { return fmt::format("{:.6f}", value); };
    csv.row({std::to_string(point.k), number(point.frozen_accuracy), number(point.silhouette),
             number(point.accuracy), number(point.log_centroids), number(point.log_score)});
  }
  csv.commit();
}

void print_table(const std::vector<Method>& methods, std::optional<std::int64_t> truth) {
  fmt::print("\n{:<12}  {:>4}  {:>9}  {:>8}\n", "method", "K", "interval", "seconds");
  for (const Method& method : methods) {
    fmt::print("{:<12}  {:>4}  {:>9}  {:>8.1f}\n", method.name, method.k, method.interval,
               method.seconds);
  }
  if (truth) fmt::print("{:<12}  {:>4}\n", "in truth", *truth);
}

void estimate_k(EstimateVerbOptions options, Session& session) {
  if (!options.curve.empty()) check_output_file(options.curve, options.overwrite, "curve");
  options.model.train.method->check_unknown_classes();
  options.model.train.material.sees_labelled = true;
  options.model.train.material.reading = {.apply_orientation = !options.model.data.is_benchmark(),
                                          .fast_decode = options.model.images.fast_decode};
  const ComputeThreads compute_threads(session.context.threads);
  const InterruptGuard interrupt;
  Context context = session.context;
  context.stop = interrupt.token();

  EstimateVerb verb(options, context, session);
  const ClassNumber found = verb.estimate();
  nlohmann::json json = found.to_json();
  if (const auto truth = verb.truth()) json["truth"] = *truth;
  if (!session.json()) fmt::print("{}\n", found.in_words(flag_of));
  if (options.compare) {
    std::vector<Method> methods = {as_method(
        options.model.train.estimate.rule == ClassNumberRule::kPaper ? "Algorithm 1" : "clusters",
        found)};
    for (Method& method : verb.others()) methods.push_back(std::move(method));
    for (const Method& method : methods)
      json["methods"][method.name] = {{"k", method.k}, {"seconds", method.seconds}};
    if (!session.json()) print_table(methods, verb.truth());
  }
  if (!options.curve.empty()) {
    write_curve(options.curve, verb.curve());
    if (!session.json()) fmt::print("curve: {}\n", options.curve.string());
  }
  if (session.json()) return session.print_json(json);
  if (!options.compare) {
    if (const auto truth = verb.truth()) fmt::print("the hidden labels have {} classes\n", *truth);
  }
}

}  // namespace

Verb estimate_k_verb() {
  return {.name = "estimate-k",
          .summary = "say how many classes there are among half-labelled images",
          .example = "protogcd estimate-k --labelled known --unlabelled all --backbone dino-vitb16",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<EstimateVerbOptions>();
            declare_estimate_options(table, options->model.train.estimate,
                                     *options->model.train.method);
            table
                .add("epochs", &options->model.train.estimate.epochs,
                     "training of a candidate of the Prototype Score, and never fewer steps than "
                     "--min-steps")
                .at_least(1);
            table
                .add("curve", &options->curve,
                     "also score numbers from K_old to --k-max and write the curves")
                .value_name("FILE.csv");
            table.add("curve_points", &options->curve_points, "numbers on the curve")
                .at_least(1)
                .at_most(10000);
            table.add("compare", &options->compare, "also try the other methods, and show a table")
                .flag_only();
            table.add("overwrite", &options->overwrite, "replace the curve's file if it exists")
                .flag_only();
            declare_data_options(table, options->model.data);
            declare_backbone_options(table, options->model.backbone);
            declare_model_options(table, options->model.train);
            table.begin_group("Machine");
            declare_image_options(table, options->model.images);
            return [options](Session& session) {
              resolve(options->model, session.context.log);
              estimate_k(*options, session);
            };
          }};
}

}  // namespace protogcd::cli
