#include "protogcd/discovery/class_number.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include "protogcd/cluster/semi_supervised_kmeans.h"
#include "protogcd/cluster/silhouette.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/discovery/class_number_baselines.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kStarts = 3;       // of k-means, for each K
constexpr std::int64_t kQuickStarts = 2;  // the same for a first look

// Set by the tasks in docs/notes/class-number.md.
constexpr double kApart = 0.2;              // a silhouette below this says that nothing is apart
constexpr double kClusterTolerance = 0.06;  // relative: K that score so little less fit as well
constexpr double kScoreTolerance = 0.003;   // of log protoScore, for every old class
constexpr double kAccuracyExponent = 0.25;  // the silhouette leads, the accuracy corrects it

// How long models that are clustered are trained: in epochs, as 450 steps were too few on 5,000
// images of CIFAR-10, but within limits: 18 epochs are no training on few images and more than
// enough on many.
constexpr std::int64_t kClusterEpochs = 18, kLeastClusterSteps = 450, kMostClusterSteps = 1000;

// The largest number looked at where none is given: generous, as an estimate cannot be beyond it,
// but with so many images for a class on average, as smaller clusters are no classes.
constexpr std::int64_t kMostPerOldClass = 3, kMostBeside = 20, kMostWithoutLabels = 100,
                       kLeastImagesPerClass = 5;
constexpr std::int64_t kMostOfMaxAcc = 1000;  // as published
constexpr std::int64_t kStepsShown = 14;      // of the curve where nothing can be said

/// Prototypes of the smaller model that is clustered: more than classes are likely, as too many
/// split classes and too few merge them.
constexpr std::int64_t ample_prototypes(std::int64_t old_classes) {
  return old_classes == 0 ? kMostWithoutLabels / 3 : 2 * old_classes + 10;
}

ClassNumberPoint unknown(std::int64_t k) {
  return {.k = k,
          .frozen_accuracy = kNaN,
          .silhouette = kNaN,
          .accuracy = kNaN,
          .log_centroids = kNaN,
          .log_score = kNaN};
}

/// Each with its neighbours, 1 : 2 : 1, so that one lucky clustering does not decide.
std::vector<double> smoothed(const std::vector<double>& scores) {
  std::vector<double> result;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double before = scores[i == 0 ? i : i - 1];
    const double after = scores[std::min(i + 1, scores.size() - 1)];
    result.push_back((before + 2 * scores[i] + after) / 4);
  }
  return result;
}

/// Trains candidates and remembers what they scored.
class Estimator {
 public:
  Estimator(TrainingMaterial& material, const Backbone& backbone, const ClassNumberOptions& options,
            const Context& context)
      : material_(material),
        backbone_(backbone),
        options_(options),
        context_(context),
        rule_(rule_for(material.set(), options)),
        labels_(labelled_classes(material.set())),
        k_old_(static_cast<std::int64_t>(material.set().dataset().old_classes)),
        k_max_(largest_class_number(material.set(), options)) {
    for (const ClassNumberPoint& point : options.known) points_.emplace(point.k, point);
  }

  ClassNumber run();
  std::int64_t steps() const {
    if (!trains() || rule_ != ClassNumberRule::kClusters) return 0;
    const bool smaller_too = ample_prototypes(k_old_) < k_max_;
    return options_.seeds * cluster_steps() * (smaller_too ? 2 : 1);
  }
  std::vector<ClassNumberPoint> curve(const std::vector<std::int64_t>& ks);

 private:
  bool trains() const { return options_.model.method->trains(); }
  bool has_labels() const { return k_old_ > 0; }
  std::int64_t steps_per_epoch() const {
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(material_.make_sampler({}, 0).batches_per_epoch()));
  }
  std::int64_t cluster_steps() const {
    return options_.cluster_steps.value_or(
        std::clamp(kClusterEpochs * steps_per_epoch(), kLeastClusterSteps, kMostClusterSteps));
  }
  std::int64_t score_steps() const {
    return std::max(options_.epochs * steps_per_epoch(), options_.min_steps);
  }
  CandidateOptions candidate(std::int64_t k, std::int64_t steps, std::int64_t seed) const;
  std::vector<Candidate> trained_models();
  std::filesystem::path kept_model(const CandidateOptions& model) const;
  void look_at_clusters(const Candidate& frozen, const std::vector<std::int64_t>& ks);
  void silhouettes(const std::vector<std::int64_t>& ks);
  void frozen_accuracies(const std::vector<std::int64_t>& ks);
  std::vector<double> of_points(const std::vector<std::int64_t>& ks,
                                double ClassNumberPoint::*value) const {
    std::vector<double> values;
    for (const std::int64_t k : ks) values.push_back(points_.at(k).*value);
    return values;
  }
  void try_numbers(const std::vector<std::int64_t>& ks);
  std::vector<ClassNumberPoint> all_points() const {
    std::vector<ClassNumberPoint> points;
    for (const auto& [k, point] : points_) points.push_back(point);
    return points;
  }
  void keep_points() const {
    if (options_.keep) options_.keep(all_points());
  }
  /// Whether an earlier estimate has found this of all these numbers.
  bool has(const std::vector<std::int64_t>& ks, double ClassNumberPoint::*value) const {
    return std::ranges::all_of(ks, [&](std::int64_t k) {
      const auto point = points_.find(k);
      return point != points_.end() && !std::isnan(point->second.*value);
    });
  }
  ClassNumber decide();
  ClassNumber by_neighbours();
  ClassNumber by_clusters();
  ClassNumber by_others();
  ClassNumber by_algorithm_1();
  ClassNumber answer(const ClassNumberPeak& peak, ClassNumberBasis basis) const;
  ClassNumber with_earned_sureness(ClassNumber result);

  TrainingMaterial& material_;
  const Backbone& backbone_;
  const ClassNumberOptions& options_;
  const Context& context_;
  const ClassNumberRule rule_;
  const at::Tensor labels_;
  const std::int64_t k_old_, k_max_;
  std::map<std::int64_t, ClassNumberPoint> points_;
  std::shared_ptr<KeptTokens> kept_;  ///< views, which all candidates of a seed see alike
};

CandidateOptions Estimator::candidate(std::int64_t k, std::int64_t steps, std::int64_t seed) const {
  CandidateOptions options = options_.model;
  options.classes = k;
  options.steps = steps;
  options.seed = context_.seed + static_cast<std::uint64_t>(seed);
  return options;
}

/// Where a trained model's features are kept, under the name of what they depend on beside the
/// settings of the run; empty: nowhere.
std::filesystem::path Estimator::kept_model(const CandidateOptions& model) const {
  if (material_.features_folder().empty()) return {};
  return material_.features_folder() /
         fmt::format("model-{}-{}-{}-{}.safetensors", model.classes, model.steps, model.seed,
                     sha256_hex(material_.set().digest()).substr(0, 16));
}

/// With two numbers of prototypes, of every seed.
std::vector<Candidate> Estimator::trained_models() {
  const std::int64_t steps = cluster_steps();
  const std::int64_t epochs = (steps + steps_per_epoch() - 1) / steps_per_epoch();
  std::vector<std::int64_t> prototypes = {k_max_};
  if (ample_prototypes(k_old_) < k_max_) prototypes.push_back(ample_prototypes(k_old_));
  std::vector<CandidateOptions> models;
  for (std::int64_t seed = 0; seed < options_.seeds; ++seed)
    for (const std::int64_t k : prototypes) {
      models.push_back(candidate(k, steps, seed));
      models.back().schedule.epochs = epochs;
      models.back().method->become_candidate(epochs);
    }
  std::vector<Candidate> found;
  std::vector<CandidateOptions> missing;
  for (const CandidateOptions& model : models) {
    if (!std::filesystem::exists(kept_model(model))) {
      missing.push_back(model);
      continue;
    }
    const StateDict kept = load_state_dict(kept_model(model));
    found.push_back(
        {.labelled = kept.tensors.at("labelled"), .unlabelled = kept.tensors.at("unlabelled")});
  }
  if (!found.empty())
    context_.log.info(
        fmt::format("{} of {} models were trained before", found.size(), models.size()));
  if (missing.empty()) return found;
  material_.prepare_bank(0);  // its time is not that of the steps
  Progress progress("estimate", missing.size() * static_cast<std::uint64_t>(steps), "steps",
                    context_.progress());
  const auto keep = [&](std::size_t i, const Candidate& trained) {
    if (const auto file = kept_model(missing[i]); !file.empty()) {
      create_folders(file.parent_path());
      const TensorEntry features[] = {entry_of("labelled", trained.labelled),
                                      entry_of("unlabelled", trained.unlabelled)};
      write_safetensors(file, features);
    }
  };
  for (Candidate& trained :
       train_candidates(material_, backbone_, missing, progress, context_, keep))
    found.push_back(std::move(trained));
  return found;
}

/// The mean over the models.
void Estimator::silhouettes(const std::vector<std::int64_t>& ks) {
  if (has(ks, &ClassNumberPoint::silhouette)) return;
  keep_points();  // with the settings that the models are trained with
  const std::vector<Candidate> models = trained_models();
  for (const std::int64_t k : ks) {
    double& silhouette = points_.try_emplace(k, unknown(k)).first->second.silhouette;
    if (!std::isnan(silhouette)) continue;
    double sum = 0;
    for (const Candidate& model : models)
      sum += silhouette_curve(model, labels_, {k}, context_.seed, context_).front();
    silhouette = sum / static_cast<double>(models.size());
    keep_points();
  }
}

void Estimator::frozen_accuracies(const std::vector<std::int64_t>& ks) {
  const Candidate frozen = untrained_candidate(material_, backbone_, context_);
  for (const std::int64_t k : ks) {
    double& accuracy = points_.try_emplace(k, unknown(k)).first->second.frozen_accuracy;
    if (!std::isnan(accuracy)) continue;
    accuracy = labelled_accuracy_curve(frozen, labels_, {k}, context_).front();
    keep_points();
  }
}

/// Silhouettes and accuracies of the features as they are, by the same clusters.
void Estimator::look_at_clusters(const Candidate& frozen, const std::vector<std::int64_t>& ks) {
  const auto curve = cluster_curve(frozen, labels_, ks, kQuickStarts, context_);
  for (std::size_t i = 0; i < ks.size(); ++i) {
    ClassNumberPoint& point = points_.try_emplace(ks[i], unknown(ks[i])).first->second;
    point.silhouette = curve[i].silhouette;
    point.frozen_accuracy = curve[i].accuracy;
  }
}

/// Trains those of these numbers that were not tried yet, each with every seed.
void Estimator::try_numbers(const std::vector<std::int64_t>& ks) {
  std::vector<std::int64_t> fresh;
  for (const std::int64_t k : ks) {
    const ClassNumberPoint& point = points_.try_emplace(k, unknown(k)).first->second;
    if (std::isnan(point.log_score) && std::ranges::find(fresh, k) == fresh.end())
      fresh.push_back(k);
  }
  if (fresh.empty()) return;
  if (!kept_) kept_ = material_.make_kept_tokens();
  // The beginning of a full run, which ends no earlier than the steps.
  const std::int64_t epochs = std::max(options_.model.schedule.epochs,
                                       (score_steps() + steps_per_epoch() - 1) / steps_per_epoch());
  std::vector<CandidateOptions> models;
  for (const std::int64_t k : fresh) {
    for (std::int64_t seed = 0; seed < options_.seeds; ++seed) {
      models.push_back(candidate(k, score_steps(), seed));
      models.back().schedule.epochs = epochs;
      models.back().plan = {.borrow = 0, .fresh_views = true, .kept = kept_};  // as published
      models.back().method->become_candidate(std::nullopt);
    }
  }
  Progress progress(fmt::format("try K = {}", join(fresh, ", ")),
                    models.size() * static_cast<std::uint64_t>(score_steps()), "steps",
                    context_.progress());
  const auto trained = train_candidates(material_, backbone_, models, progress, context_);
  const auto seeds = static_cast<std::size_t>(options_.seeds);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    ClassNumberPoint& point = points_.at(fresh[i]);
    point.accuracy = point.log_centroids = point.log_score = 0;
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      const PrototypeScore found = prototype_score(trained[i * seeds + seed], labels_, k_old_);
      point.accuracy += found.accuracy / static_cast<double>(seeds);
      point.log_centroids += found.log_centroids / static_cast<double>(seeds);
      point.log_score += found.log_score() / static_cast<double>(seeds);
    }
  }
  keep_points();
}

ClassNumber Estimator::answer(const ClassNumberPeak& peak, ClassNumberBasis basis) const {
  ClassNumber result{.k = peak.k,
                     .k_old = k_old_,
                     .low = peak.low,
                     .high = peak.high,
                     .sureness = peak.sureness,
                     .basis = basis,
                     .is_largest = peak.k == k_max_};
  if (result.is_largest) result.sureness = Sureness::kUnsure;
  result.curve = all_points();
  return result;
}

ClassNumber Estimator::by_neighbours() {
  const Candidate frozen = untrained_candidate(material_, backbone_, context_);
  // Labelled images that are kept out of training belong to the size of their classes.
  std::vector<at::Tensor> labelled = {frozen.labelled}, labels = {labels_};
  if (const auto kept_out = material_.set().of(SampleSet::kCalibration); !kept_out.empty()) {
    labelled.push_back(untrained_features(material_, backbone_, SampleSet::kCalibration, context_));
    const std::vector<std::int32_t> classes = truths_of(kept_out);
    labels.push_back(at::tensor(at::ArrayRef<std::int32_t>(classes)).to(at::kLong));
  }
  const auto found =
      count_by_neighbours(at::cat(labelled), at::cat(labels), frozen.unlabelled, context_.stop);
  if (!found) throw InternalError("neighbours were asked where they say nothing");
  if (found->purity < kNothingSaid) {  // what clusters look like is for people to judge
    ClassNumberOptions clusters = options_;
    clusters.rule = ClassNumberRule::kClusters;
    look_at_clusters(
        frozen,
        class_number_grid(k_old_, largest_class_number(material_.set(), clusters), kStepsShown));
  }
  ClassNumber result = answer(likely_numbers(*found, k_max_), ClassNumberBasis::kNeighbours);
  result.neighbours = {.purity = found->purity,
                       .labelled_share = found->labelled_share,
                       .class_size = found->class_size};
  return result;
}

/// Others' ways, which say neither how far they may be off nor how sure they are.
ClassNumber Estimator::by_others() {
  const Candidate frozen = untrained_candidate(material_, backbone_, context_);
  const auto answered = [&](std::int64_t k, ClassNumberBasis basis) {
    return answer({.k = k, .low = k, .high = k}, basis);
  };
  if (rule_ == ClassNumberRule::kMaxAcc)
    return answered(max_acc(frozen, labels_, k_old_, k_max_, context_), ClassNumberBasis::kMaxAcc);
  if (rule_ == ClassNumberRule::kInfomap)
    return answered(count_communities(frozen, labels_, k_old_, k_max_, context_),
                    ClassNumberBasis::kInfomap);
  if (rule_ == ClassNumberRule::kGpc) {
    const SplitCount found = count_by_splits(frozen, labels_, k_old_, k_max_, context_);
    ClassNumber result = answered(found.k, ClassNumberBasis::kGpc);
    result.has_settled = found.has_settled;
    return result;
  }
  const auto ks = class_number_grid(std::max<std::int64_t>(k_old_, 2), k_max_);
  const auto curve = cluster_curve(frozen, labels_, ks, kStarts, context_);
  std::vector<double> inertias, silhouettes;
  for (std::size_t i = 0; i < ks.size(); ++i) {
    points_.try_emplace(ks[i], unknown(ks[i])).first->second.silhouette = curve[i].silhouette;
    inertias.push_back(curve[i].inertia);
    silhouettes.push_back(curve[i].silhouette);
  }
  if (rule_ == ClassNumberRule::kElbow)
    return answered(ks[elbow_of(inertias)], ClassNumberBasis::kElbow);
  const auto best = std::ranges::max_element(silhouettes) - silhouettes.begin();
  return answered(ks[static_cast<std::size_t>(best)], ClassNumberBasis::kSilhouette);
}

ClassNumber Estimator::by_clusters() {
  const auto ks = class_number_grid(std::max<std::int64_t>(k_old_, 2), k_max_);
  if (trains()) {
    silhouettes(ks);
  } else {
    look_at_clusters(untrained_candidate(material_, backbone_, context_), ks);
  }
  std::vector<double> scores = smoothed(of_points(ks, &ClassNumberPoint::silhouette));
  const double best = *std::ranges::max_element(scores);
  if (has_labels()) {
    if (trains()) frozen_accuracies(ks);
    const std::vector<double> accuracy =
        smoothed(of_points(ks, &ClassNumberPoint::frozen_accuracy));
    for (std::size_t i = 0; i < ks.size(); ++i)
      scores[i] *= std::pow(accuracy[i], kAccuracyExponent);
  }
  const double highest = *std::ranges::max_element(scores);
  ClassNumberPeak peak = find_peak(ks, scores, kClusterTolerance * highest);
  const std::int64_t between = ks.size() > 1 ? ks[1] - ks[0] - 1 : 0;  // numbers not looked at
  peak.low = std::max({peak.low - between, k_old_, std::int64_t{1}});
  peak.high = std::min(peak.high + between, k_max_);
  if (best < kApart) peak.sureness = Sureness::kUnsure;
  return answer(peak, trains() ? ClassNumberBasis::kClusters : ClassNumberBasis::kFrozenClusters);
}

ClassNumber Estimator::by_algorithm_1() {
  const std::int64_t k =
      k_old_ + search_new_classes(k_max_ - k_old_, [&](std::int64_t k_new) {
        const std::int64_t first = k_old_ + k_new;
        try_numbers({first, first + 1});
        return std::pair(points_.at(first).log_score, points_.at(first + 1).log_score);
      });
  try_numbers({k});  // without room for new classes nothing was tried
  std::vector<std::int64_t> ks;
  std::vector<double> scores;
  for (const auto& [tried, point] : points_) {
    ks.push_back(tried);
    scores.push_back(point.log_score);
  }
  ClassNumberPeak peak = find_peak(ks, scores, kScoreTolerance * static_cast<double>(k_old_));
  if (peak.k != k) peak.sureness = Sureness::kUnsure;  // the search passed by a better number
  peak.low = std::min(peak.low, k);
  peak.high = std::max(peak.high, k);
  peak.k = k;
  return answer(peak, ClassNumberBasis::kAlgorithm1);
}

/// A peak, however sharp, was not measured to be right often enough for "sure". Where the
/// backbone's own features do not keep the labelled classes together, it is no knowledge of
/// classes. Without labelled images nothing says what a class is.
ClassNumber Estimator::with_earned_sureness(ClassNumber result) {
  result.sureness = std::max(result.sureness, Sureness::kFairly);
  if (!can_count(ClassNumberRule::kNeighbours, material_.set(), options_))
    result.sureness = Sureness::kUnsure;  // one class is whole in nearly any clustering
  if (!has_labels()) return result;
  if (std::isnan(points_.at(result.k).frozen_accuracy)) frozen_accuracies({result.k});
  const double fit = points_.at(result.k).frozen_accuracy;
  if (fit < kLeastForFairly) result.sureness = Sureness::kUnsure;
  std::ranges::find(result.curve, result.k, &ClassNumberPoint::k)->frozen_accuracy = fit;
  return result;
}

ClassNumber Estimator::decide() {
  switch (rule_) {
    case ClassNumberRule::kNeighbours:
      return by_neighbours();
    case ClassNumberRule::kClusters:
      return with_earned_sureness(by_clusters());
    case ClassNumberRule::kPaper:
      return with_earned_sureness(by_algorithm_1());
    default:
      return by_others();
  }
}

ClassNumber Estimator::run() {
  const auto start = std::chrono::steady_clock::now();
  check_class_number(material_.set(), options_);
  ClassNumber result = decide();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

std::vector<ClassNumberPoint> Estimator::curve(const std::vector<std::int64_t>& ks) {
  check_class_number(material_.set(), options_);
  if (!trains()) {
    look_at_clusters(untrained_candidate(material_, backbone_, context_), ks);
  } else {
    silhouettes(ks);
    if (has_labels()) {
      frozen_accuracies(ks);
      try_numbers(ks);
    }
  }
  std::vector<ClassNumberPoint> result;
  for (const std::int64_t k : ks) result.push_back(points_.at(k));
  return result;
}

}  // namespace

std::string_view name_of(ClassNumberRule rule) {
  constexpr std::string_view kNames[] = {"neighbours", "clusters", "paper",   "max-acc",
                                         "silhouette", "elbow",    "infomap", "gpc"};
  return kNames[static_cast<int>(rule)];
}

bool can_count(ClassNumberRule rule, const TrainingSet& set, const ClassNumberOptions& options) {
  const std::size_t old = set.dataset().old_classes;
  switch (rule) {
    case ClassNumberRule::kNeighbours:
      return old >= 2 && set.count(SampleSet::kLabelled) > old;
    case ClassNumberRule::kPaper:
      return old > 0 && options.model.method->trains();
    case ClassNumberRule::kMaxAcc:
      return old > 0;
    default:
      return true;
  }
}

ClassNumberRule rule_for(const TrainingSet& set, const ClassNumberOptions& options) {
  const bool falls_back =
      options.rule == ClassNumberRule::kNeighbours && !can_count(options.rule, set, options);
  return falls_back ? ClassNumberRule::kClusters : options.rule;
}

std::int64_t largest_class_number(const TrainingSet& set, const ClassNumberOptions& options) {
  const auto old = static_cast<std::int64_t>(set.dataset().old_classes);
  if (options.k_max) return *options.k_max;
  const auto images = static_cast<std::int64_t>(set.train().size());
  const auto unlabelled = static_cast<std::int64_t>(set.count(SampleSet::kUnlabelled));
  const std::int64_t a_fifth = images / kLeastImagesPerClass;
  const auto most = [&] {
    const ClassNumberRule rule = rule_for(set, options);
    if (rule == ClassNumberRule::kMaxAcc) return kMostOfMaxAcc;
    if (rule == ClassNumberRule::kNeighbours || rule == ClassNumberRule::kInfomap ||
        rule == ClassNumberRule::kGpc)
      return a_fifth;
    const std::int64_t generous =
        old == 0 ? kMostWithoutLabels : kMostPerOldClass * old + kMostBeside;
    return std::min(generous, a_fifth);
  };
  return std::max(old, std::min(most(), old + unlabelled));
}

void check_class_number(const TrainingSet& set, const ClassNumberOptions& options) {
  const auto old = static_cast<std::int64_t>(set.dataset().old_classes);
  const auto unlabelled = static_cast<std::int64_t>(set.count(SampleSet::kUnlabelled));
  if (options.rule == ClassNumberRule::kPaper && !options.model.method->trains()) {
    throw UsageError(fmt::format("{} paper trains models, and {} does not train",
                                 option_name("rule"), options.model.method->name()));
  }
  if (old == 0 && !can_count(rule_for(set, options), set, options)) {
    throw DataError(
        fmt::format("{} {} counts classes with the help of labelled images, and there are none",
                    option_name("rule"), name_of(options.rule)),
        fmt::format("leave out {}, or name the number with {}", option_name("rule"),
                    option_name("k")));
  }
  if (unlabelled == 0)
    throw DataError("no unlabelled images: there are no new classes to be counted in them");
  const std::int64_t k_max = largest_class_number(set, options);
  if (k_max < old) {
    throw UsageError(fmt::format(
        "{}: {} is less than the {} classes of the labelled images (K counts old and new)",
        option_name("k_max"), k_max, old));
  }
  if (k_max < 2 && !options.k_max) {
    throw DataError(fmt::format("{} images are too few to count classes in", set.train().size()),
                    fmt::format("name the number with {}", option_name("k")));
  }
  if (k_max < 2 || k_max - old > unlabelled) {
    throw UsageError(
        fmt::format("{}: {} classes cannot be told apart in {} images, {} of them unlabelled",
                    option_name("k_max"), k_max, set.train().size(), unlabelled));
  }
}

ClassNumber estimate_class_number(TrainingMaterial& material, const Backbone& backbone,
                                  const ClassNumberOptions& options, const Context& context) {
  return Estimator(material, backbone, options, context).run();
}

std::int64_t estimate_steps(TrainingMaterial& material, const Backbone& backbone,
                            const ClassNumberOptions& options, const Context& context) {
  return Estimator(material, backbone, options, context).steps();
}

std::vector<ClassNumberPoint> class_number_curve(TrainingMaterial& material,
                                                 const Backbone& backbone,
                                                 const ClassNumberOptions& options,
                                                 const std::vector<std::int64_t>& ks,
                                                 const Context& context) {
  return Estimator(material, backbone, options, context).curve(ks);
}

std::vector<double> silhouette_curve(const Candidate& candidate, const at::Tensor& labels,
                                     const std::vector<std::int64_t>& ks, std::uint64_t seed,
                                     const Context& context) {
  const at::Tensor features = at::cat({candidate.labelled, candidate.unlabelled});
  const Points points(features, "features");
  const Silhouette silhouette(features);
  const at::Tensor known =
      at::cat({labels, at::full({candidate.unlabelled.size(0)}, -1, at::kLong)});
  std::vector<double> curve;
  for (const std::int64_t k : ks) {
    const Clustering clusters = semi_supervised_kmeans(
        points, known, {.k = k, .starts = kStarts, .seed = seed, .stop = context.stop});
    curve.push_back(silhouette(clusters.labels));
  }
  return curve;
}

}  // namespace protogcd
