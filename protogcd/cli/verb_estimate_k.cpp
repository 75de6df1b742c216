// `protogcd estimate-k`: how many classes are there among half-labelled images?
#include <fmt/core.h>

#include <map>
#include <memory>

#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
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

class EstimateVerb {
 public:
  EstimateVerb(const EstimateVerbOptions& options, const Context& context, Session& session)
      : options_(options),
        context_(context),
        how_(estimate_of(options.model.train)),
        backbone_(open_backbone(options.model.backbone, session.context.log)),
        material_(open_data(options.model.data, session.context.log), backbone_,
                  options.model.train.material, folder_ / "estimate", session.bad_image_policy(),
                  context) {
    how_.rule = rule_for(material_.set(), how_);
  }

  std::string rule() const { return std::string(name_of(how_.rule)); }
  ClassNumber estimate() { return estimate_class_number(material_, backbone_, how_, context_); }

  /// What the other rules say.
  std::map<std::string, ClassNumber> others() {
    std::map<std::string, ClassNumber> found;
    for (const ClassNumberRule rule : kClassNumberRules) {
      if (rule == how_.rule || !can_count(rule, material_.set(), how_)) continue;
      ClassNumberOptions other = how_;
      other.rule = rule;
      found.emplace(name_of(rule), estimate_class_number(material_, backbone_, other, context_));
    }
    return found;
  }

  /// From the old classes to the largest number that clusters are counted for.
  std::vector<ClassNumberPoint> curve() {
    ClassNumberOptions how = how_;
    how.rule = ClassNumberRule::kClusters;
    const auto low =
        std::max<std::int64_t>(static_cast<std::int64_t>(material_.set().dataset().old_classes), 1);
    const std::int64_t high = largest_class_number(material_.set(), how);
    const std::int64_t points = std::min(options_.curve_points, high - low + 1);
    std::vector<std::int64_t> ks;
    for (std::int64_t i = 0; i < points; ++i)
      ks.push_back(points == 1 ? low : low + (high - low) * i / (points - 1));
    return class_number_curve(material_, backbone_, how, ks, context_);
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

void print_table(const std::map<std::string, ClassNumber>& rules,
                 std::optional<std::int64_t> truth) {
  say("\n{:<12}  {:>4}  {:>9}  {:<11}  {:>8}\n", "rule", "K", "interval", "sure", "seconds");
  for (const ClassNumberRule rule : kClassNumberRules) {
    const auto row = rules.find(std::string(name_of(rule)));
    if (row == rules.end()) continue;
    const ClassNumber& found = row->second;
    const bool told = found.basis < ClassNumberBasis::kMaxAcc;  // others' rules say nothing of it
    say("{:<12}  {:>4}  {:>9}  {:<11}  {:>8.1f}\n", row->first, found.k,
        told ? fmt::format("{}-{}", found.low, found.high) : "",
        told ? in_words(found.sureness) : "", found.seconds);
  }
  if (truth) say("{:<12}  {:>4}\n", "in truth", *truth);
}

/// For a person to judge, where the program cannot.
void print_curve(const std::vector<ClassNumberPoint>& points) {
  say("\n{:>4}  {:>10}  {:>17}\n", "K", "silhouette", "labelled accuracy");
  for (const ClassNumberPoint& point : points)
    say("{:>4}  {:>10.3f}  {:>17.3f}\n", point.k, point.silhouette, point.frozen_accuracy);
}

void estimate_k(EstimateVerbOptions options, Session& session) {
  if (!options.curve.empty()) check_output_file(options.curve, options.overwrite, "curve");
  options.model.train.material.sees_labelled = true;
  options.model.train.material.sees_strong = options.model.train.method->sees_strong();
  options.model.train.material.reading = {.apply_orientation = !options.model.data.is_benchmark(),
                                          .fast_decode = options.model.images.fast_decode};
  const ComputeSettings settings(session.context);
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();

  EstimateVerb verb(options, context, session);
  const ClassNumber found = verb.estimate();
  nlohmann::json json = found.to_json();
  if (const auto truth = verb.truth()) json["truth"] = *truth;
  if (!session.json()) {
    say("{}\n", found.in_words(flag_of));
    if (found.says_nothing()) print_curve(found.curve);
  }
  if (options.compare) {
    auto rules = verb.others();
    rules.emplace(verb.rule(), found);
    for (const auto& [name, answer] : rules) {
      json["rules"][name] = {{"k", answer.k},
                             {"interval", {answer.low, answer.high}},
                             {"sure", in_words(answer.sureness)},
                             {"seconds", answer.seconds}};
    }
    if (!session.json()) print_table(rules, verb.truth());
  }
  if (!options.curve.empty()) {
    write_curve(options.curve, verb.curve());
    if (!session.json()) say("curve: {}\n", options.curve.string());
  }
  if (session.json()) return session.print_json(json);
  if (!options.compare) {
    if (const auto truth = verb.truth()) say("the hidden labels have {} classes\n", *truth);
  }
}

}  // namespace

Verb estimate_k_verb() {
  return {
      .name = "estimate-k",
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
        table.add("compare", &options->compare, "also count by every other rule, and show a table")
            .flag_only();
        table.add("overwrite", &options->overwrite, "replace the curve's file if it exists")
            .flag_only();
        declare_data_options(table, options->model.data);
        declare_backbone_options(table, options->model.backbone);
        declare_model_options(table, options->model.train);
        declare_as_published(table, options->model.train);
        settle_as_published(table, options->model.train, options->model.data.dataset);
        table.begin_group("Machine");
        declare_image_options(table, options->model.images);
        return [options](Session& session) {
          resolve(options->model, session.context.log);
          estimate_k(*options, session);
        };
      }};
}

}  // namespace protogcd::cli
