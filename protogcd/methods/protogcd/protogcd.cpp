#include "protogcd/methods/protogcd/protogcd.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/methods/feature_clusters.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {
namespace {

/// The paper's last layer of the projection, as GCD's.
constexpr std::int64_t kPaperWideProjection = 65536;

// Of the general preset; docs/defaults.md has what they were found on.
constexpr double kGeneralLambdaEntropy = 1.5, kGeneralWindow = 10;
constexpr std::int64_t kFirstStarts = 10;  ///< of k-means
constexpr double kRecounts[] = {0.1, 0.3,
                                0.5};  ///< parts of the training after which classes are counted
/// Unevenness at which clusters are trusted half; what is too little to be worth a change.
constexpr double kHalfTrusted = 0.1, kLeastTrust = 0.2;
/// Clusters of classes of one size are off by up to 4 points.
constexpr double kSurprise = 0.06;

/// No shares: the same for every class.
ExpectedShares expected_shares(const ProtoGcdOptions& options, const MethodInput& input) {
  if (!options.prior.empty()) return {.shares = read_prior(options.prior, input.classes)};
  if (options.class_shares == ClassShares::kEven) return {};
  return counted_shares(input, options.objective.marginal_scope);
}

double sum_of_first(const std::vector<double>& values, std::int64_t count) {
  return std::accumulate(values.begin(), values.begin() + count, 0.0);
}

class ProtoGcd : public Method {
 public:
  ProtoGcd(const ProtoGcdOptions& options, const MethodInput& input)
      : objective_options_(options.objective),
        ramp_{.hard_labels = options.hard_labels,
              .epochs = options.ramp_epochs.value(),
              .wait = options.ramp_wait,
              .from = options.ramp_from,
              .to = options.ramp_to,
              .as_published = options.ramp_as_published.value()},
        first_prototypes_(options.first_prototypes.value()),
        first_classes_(input.first_classes),
        taken_(input.taken),
        seed_(input.seed),
        old_classes_(input.old_classes),
        labelled_(input.labelled),
        unlabelled_(input.unlabelled),
        epochs_(input.epochs),
        every_class_is_labelled_(std::ranges::find(input.labelled_of_class, 0) ==
                                 input.labelled_of_class.end()),
        recounts_(options.prior.empty() && options.class_shares == ClassShares::kCounted &&
                  options.objective.marginal_scope == MarginalScope::kUnlabelled),
        expected_(expected_shares(options, input)),
        head_(options.head.make(input, options.wide_projection.value())),
        momentum_(options.teacher),
        objective_(options.objective, input.k(), expected_.shares, input.type, input.device),
        hard_count_(at::kLong, input.device) {
    if (options.teacher) teacher_ = options.head.make(input, options.wide_projection.value());
    if (options.hard_scope == HardScope::kSet)
      hard_ = at::zeros({labelled_ + unlabelled_}, at::device(input.device).dtype(input.type));
    if (!options.init_prototypes.empty()) begin_with_file(options.init_prototypes);
  }

  std::map<std::string, at::Tensor> parameters() const override { return head_.named_parameters(); }
  std::vector<std::string> of_classes() const override { return {kPrototypes}; }
  std::optional<Teacher> teacher() const override {
    if (!teacher_) return std::nullopt;
    return Teacher{.parameters = teacher_->named_parameters(), .momentum = *momentum_};
  }
  std::vector<BatchStream> streams() const override {
    if (!teacher_) return {BatchStream{}};
    return {{.strength = ViewStrength::kStrong}, {.same_images_as = 0, .for_teacher = true}};
  }
  std::map<std::string, at::Tensor> state() const override {
    std::map<std::string, at::Tensor> kept;
    if (hard_.defined()) kept.emplace("hard", hard_);
    if (objective_options_.marginal_window > 0)
      kept.emplace("running_marginal", objective_.running_marginal());
    if (recounts_) kept.emplace("log_prior", objective_.log_prior());
    return kept;
  }
  std::vector<ReportedValue> reported() const override {
    std::vector<ReportedValue> values = {{"sup"},
                                         {"dapl"},
                                         {"entropy"},
                                         {"separation"},
                                         {"unsup_con"},
                                         {"sup_con"},
                                         {"hard_share", ReportedKind::kShare},
                                         {"marginal_old", ReportedKind::kShare},
                                         {"hard_ratio", ReportedKind::kSchedule}};
    if (recounts_) values.push_back({"expected_old", ReportedKind::kSchedule});
    return values;
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    if (input.epoch == 0 && !input.is_resumed && first_prototypes_ == FirstPrototypes::kKmeans)
      begin_with_clusters(input.sets);
    hard_count_.set(static_cast<double>(hard_count(ramp_, input.epoch, input.images_per_step)));
    if (hard_.defined() && !input.is_resumed) decide_hard_labels(input);
    std::vector<double> numbers = {hard_ratio(ramp_, input.epoch)};
    if (recounts_) {
      if (!input.is_resumed && is_recounted_in(input.epoch)) recount(input.sets);
      numbers.push_back(
          objective_.log_prior().narrow(0, 0, old_classes_).exp().sum().item<double>());
    }
    return numbers;
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const HardChoice hard{*hard_count_,
                          hard_.defined() ? hard_.index_select(0, batch.places) : at::Tensor()};
    const at::Tensor teaching =
        teacher_ ? teacher_->cosines(batches[1].features) : at::Tensor();  // [2B, K]
    const LossTerms terms =
        objective_(head_.forward(batch.features), batch, hard, communicator, teaching);
    return {terms.total,
            {terms.sup, terms.dapl, terms.entropy, terms.separation, terms.unsup_con, terms.sup_con,
             terms.hard_share, terms.marginal.narrow(0, 0, old_classes_).sum()}};
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = prototypes().detach(),
                           .temperature = objective_options_.tau_base}};
  }

 private:
  bool is_recounted_in(std::int64_t epoch) const {
    return std::ranges::any_of(kRecounts, [&](double part) {
      return epoch == std::max<std::int64_t>(std::llround(part * static_cast<double>(epochs_)), 1);
    });
  }

  /// Classes may be of other sizes than was expected. Clusters of the features as they are now tell
  /// it: k-means expects nothing. What they say is taken where labels say that sizes differ, and
  /// for old and new classes together where it is far from what was expected.
  void recount(SetFeatures& sets) {
    if (unlabelled_ < prototypes().size(0)) return;
    const auto clusters = clusters_from(sets, unit_rows(prototypes().detach()));
    if (!clusters) return;  // the loop says that it diverged
    const OwnClusters& found = *clusters;
    const double trust = expected_.unevenness / (expected_.unevenness + kHalfTrusted);
    const double expected_old = sum_of_first(expected_.shares, old_classes_),
                 found_old = sum_of_first(found.shares, old_classes_);
    const bool is_surprise = std::abs(found_old - expected_old) > kSurprise;
    if (trust < kLeastTrust && !is_surprise) return;
    std::vector<double> shares(found.shares.size());
    for (std::size_t c = 0; c < shares.size(); ++c)
      shares[c] = trust * found.shares[c] + (1 - trust) * expected_.shares[c];
    if (is_surprise) {
      const double old = sum_of_first(shares, old_classes_);
      for (std::size_t c = 0; c < shares.size(); ++c) {
        const bool is_old = static_cast<std::int64_t>(c) < old_classes_;
        shares[c] *= is_old ? found_old / old : (1 - found_old) / (1 - old);
      }
    }
    objective_.set_prior(shares);
    point_prototypes_at(found.centres);
  }

  /// What evaluations look at.
  const Head& scored() const { return teacher_ ? *teacher_ : head_; }
  at::Tensor prototypes() const { return scored().named_parameters().at(kPrototypes); }

  /// The old classes' rows, with the lengths that the file gives them.
  void begin_with_file(const std::filesystem::path& file) {
    const at::NoGradGuard no_grad;
    at::Tensor own = head_.named_parameters().at(kPrototypes).narrow(0, 0, old_classes_);
    own.copy_(read_prototypes(file, old_classes_, own.size(1)));
  }

  /// Each prototype in the direction of a centre [K, D], at the length they have; the teacher's
  /// with them.
  void point_prototypes_at(const at::Tensor& centres) {
    point_at(head_.named_parameters().at(kPrototypes), centres);
    if (teacher_) point_at(prototypes(), centres);
  }

  void begin_with_clusters(SetFeatures& sets) {
    if (taken_.has_every_class()) return;
    const std::int64_t k = prototypes().size(0);
    if (unlabelled_ < k - old_classes_) return;  // too few to draw clusters from
    if (taken_.keeps_classes(old_classes_)) {
      point_prototypes_at(
          further_centres(sets, taken_.prototypes, old_classes_, kFirstStarts, seed_));
    } else if (!first_classes_.empty()) {
      point_prototypes_at(class_centres(sets, first_classes_, k));
    } else if (every_class_is_labelled_) {
      point_prototypes_at(cluster_centres(sets, k, kFirstStarts, seed_));
    }
  }

  /// The paper's level 2: the most confident of all unlabelled images, by what the model says of
  /// their centre views as the epoch begins. Labelled images keep soft labels.
  void decide_hard_labels(const EpochInput& input) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> parts;
    input.sets.for_each(SampleSet::kUnlabelled, [&](const at::Tensor& features) {
      const at::Tensor sharpened =
          at::softmax(scored().cosines(features) / objective_options_.tau_sharp, 1);
      parts.push_back(prototype_confidence(sharpened, objective_options_.confidence_floor));
    });
    hard_.zero_();
    if (parts.empty()) return;
    const at::Tensor order =
        at::cat(parts).to(at::kCPU).argsort(/*stable=*/true, 0, /*descending=*/true);
    const std::int64_t count = hard_count(ramp_, input.epoch, unlabelled_);
    hard_.index_fill_(0, (order.narrow(0, 0, count) + labelled_).to(hard_.device()), 1);
  }

  const ObjectiveOptions objective_options_;
  const RampOptions ramp_;
  const FirstPrototypes first_prototypes_;
  const std::vector<std::int32_t> first_classes_;
  const TakenHead taken_;
  const std::uint64_t seed_;
  const std::int64_t old_classes_, labelled_, unlabelled_;
  const std::int64_t epochs_;
  const bool every_class_is_labelled_, recounts_;
  const ExpectedShares expected_;
  Head head_;
  const std::optional<TeacherMomentum> momentum_;
  std::optional<Head> teacher_;
  Objective objective_;
  EpochScalar hard_count_;
  at::Tensor hard_;  ///< [N] 1 where an image's pseudo-label is hard, decided once an epoch
};

}  // namespace

std::unique_ptr<MethodOptions> protogcd_options() {
  return std::make_unique<ProtoGcdOptions>();
}

std::unique_ptr<MethodOptions> ProtoGcdOptions::copy() const {
  return std::make_unique<ProtoGcdOptions>(*this);
}

void ProtoGcdOptions::declare(OptionTable& table) {
  ObjectiveOptions& o = objective;
  table.add_choice<std::optional<ProtoGcdPreset>, ProtoGcdPreset>(
      "preset", &preset,
      {{"reference", ProtoGcdPreset::kReference},
       {"paper", ProtoGcdPreset::kPaper},
       {"general", ProtoGcdPreset::kGeneral}},
      "reference: as the released code computes; paper: as the equations say; general: for images "
      "that nobody tuned settings on");
  table.add("lambda_sup", &o.lambda_sup, "lambda_sup: share of the supervised terms (Eq. 6, 17)")
      .at_least(0)
      .at_most(1);
  table
      .add("lambda_entropy", &lambda_entropy,
           "lambda_entropy: weight of the marginal entropy (Eq. 15); 2, or 1.5 of the general "
           "preset, if not given")
      .at_least(0);
  table.add_choice<std::optional<MarginalScope>, MarginalScope>(
      "marginal_scope", &marginal_scope,
      {{"batch", MarginalScope::kBatch}, {"unlabelled", MarginalScope::kUnlabelled}},
      "whose mean prediction is held to the class shares (Eq. 13)");
  table
      .add("marginal_window", &marginal_window,
           "that mean is over so many predictions for each class, of earlier steps too; 0: over "
           "the batch alone")
      .at_least(0);
  table.add_choice<std::optional<ClassShares>, ClassShares>(
      "class_shares", &class_shares,
      {{"even", ClassShares::kEven}, {"counted", ClassShares::kCounted}},
      "expected shares without a prior: even, or by how many images of which classes are labelled");
  table.add_choice<std::optional<FirstPrototypes>, FirstPrototypes>(
      "first_prototypes", &first_prototypes,
      {{"random", FirstPrototypes::kRandom}, {"kmeans", FirstPrototypes::kKmeans}},
      "where prototypes begin: at random, or at clusters of the backbone's own features");
  table.add("lambda_sep", &o.lambda_sep, "lambda_sep: weight of the separation (Eq. 15)")
      .at_least(0);
  table.add("weight_dapl", &o.weight_dapl, "weight of L_dapl (Eq. 11); 0: ablated").at_least(0);
  table.add("weight_sup", &o.weight_sup, "weight of L_sup (Eq. 16)").at_least(0);
  table.add("weight_unsup_con", &o.weight_unsup_con, "weight of L_con^u (Eq. 4)")
      .at_least(0)
      .alias("weight_contrastive");
  table.add("weight_sup_con", &o.weight_sup_con, "weight of L_con^l (Eq. 5)")
      .at_least(0)
      .alias("weight_supcon");
  table.add("tau_base", &o.tau_base, "tau_base: temperature of predictions (Eq. 2)").above(0);
  table.add("tau_sharp", &o.tau_sharp, "tau_sharp: temperature of soft pseudo-labels (Eq. 9)")
      .above(0);
  table.add("tau_sep", &o.tau_sep, "tau_sep: temperature of the separation (Eq. 14)").above(0);
  table
      .add("tau_unsup_con", &tau_unsup_con,
           "tau_c of the unsupervised contrast (Eq. 4); 1, or the paper's 0.07, if not given")
      .above(0);
  table.add("tau_sup_con", &o.tau_sup_con, "tau_c of the supervised contrast (Eq. 5)").above(0);
  table.add("scale_regularisers", &scale_regularisers,
            "regularisers times 1 - lambda_sup, as the released code");
  table
      .add("confidence_floor", &confidence_floor,
           "added to the second probability in the confidence (Eq. 8)")
      .at_least(0);
  table.add_choice<HardLabels, HardLabels>("hard_labels", &hard_labels,
                                           {{"ramp", HardLabels::kRamp},
                                            {"all", HardLabels::kAll},
                                            {"none", HardLabels::kNone},
                                            {"half", HardLabels::kHalf}},
                                           "r(e): which pseudo-labels are hard (Eq. 10)");
  table.add_choice<std::optional<HardScope>, HardScope>(
      "hard_scope", &hard_scope, {{"batch", HardScope::kBatch}, {"set", HardScope::kSet}},
      "hard labels for the most confident of each batch, or of all unlabelled images");
  table.add("ramp_epochs", &ramp_epochs, "e_ramp (Eq. 10); half the epochs if not given")
      .at_least(0);
  table.add("ramp_as_published", &ramp_as_published,
            "the ramp ends at epoch e_ramp - 1, as in the released code");
  table.add("ramp_wait", &ramp_wait, "epochs without hard labels before the ramp").at_least(0);
  table.add("ramp_from", &ramp_from, "share of hard labels that the ramp begins with")
      .at_least(0)
      .at_most(1);
  table.add("ramp_to", &ramp_to, "share of hard labels that it ends with").at_least(0).at_most(1);
  table
      .add("init_prototypes", &init_prototypes,
           "first prototypes of the old classes: a file (.pt, .safetensors) of one tensor")
      .value_name("FILE")
      .incidental();  // its content is what counts
  table.add("prior", &prior, "expected shares as class,share instead of uniform (after Theorem 2)")
      .value_name("FILE.csv")
      .incidental();  // its content is what counts
  head.declare(table);
  table
      .add("wide_projection", &wide_projection,
           "numbers of a further layer of the projection (the paper's 65536); 0: none")
      .at_least(0);
}

std::vector<std::string> ProtoGcdOptions::resolve(const MethodFacts& facts) {
  std::vector<std::string> decided = head.resolve(facts);
  const auto settle = [](auto& value, auto otherwise) { value = value.value_or(otherwise); };
  settle(preset, facts.as_published ? ProtoGcdPreset::kReference : ProtoGcdPreset::kGeneral);
  const bool as_paper = preset == ProtoGcdPreset::kPaper,
             is_general = preset == ProtoGcdPreset::kGeneral;
  const ObjectiveOptions usual = as_paper ? ObjectiveOptions::paper() : ObjectiveOptions();
  settle(lambda_entropy, is_general ? kGeneralLambdaEntropy : usual.lambda_entropy);
  settle(marginal_scope, is_general ? MarginalScope::kUnlabelled : usual.marginal_scope);
  settle(marginal_window, is_general ? kGeneralWindow : usual.marginal_window);
  settle(class_shares, is_general ? ClassShares::kCounted : ClassShares::kEven);
  settle(first_prototypes, is_general && init_prototypes.empty() ? FirstPrototypes::kKmeans
                                                                 : FirstPrototypes::kRandom);
  settle(tau_unsup_con, usual.tau_unsup_con);
  settle(scale_regularisers, usual.scale_regularisers);
  settle(confidence_floor, usual.confidence_floor);
  settle(hard_scope, as_paper ? HardScope::kSet : HardScope::kBatch);
  settle(ramp_as_published, !as_paper);
  settle(wide_projection, as_paper ? kPaperWideProjection : 0);
  if (!ramp_epochs) {
    ramp_epochs = std::max<std::int64_t>(facts.epochs / 2, 1);
    if (hard_labels == HardLabels::kRamp)
      decided.push_back(
          fmt::format("ramp_epochs {}: half of the {} epochs", *ramp_epochs, facts.epochs));
  }
  objective.lambda_entropy = *lambda_entropy;
  objective.marginal_scope = *marginal_scope;
  objective.marginal_window = *marginal_window;
  objective.tau_unsup_con = *tau_unsup_con;
  objective.scale_regularisers = *scale_regularisers;
  objective.confidence_floor = *confidence_floor;
  return decided;
}

std::vector<PublishedSetting> ProtoGcdOptions::published(const std::string& dataset) const {
  // The paper's appendix on hyper-parameters: lambda_entropy is 1 for these two, else 2.
  const bool is_one = dataset == "cifar10" || dataset == "aircraft";
  return {{"preset", "reference"}, {"lambda_entropy", is_one ? "1" : "2"}, head.published()};
}

void ProtoGcdOptions::become_candidate(std::optional<std::int64_t> epochs) {
  hard_scope = HardScope::kBatch;
  prior.clear();  // of classes whose number is not known yet
  // How classes are counted was worked out with models of the published settings.
  if (preset == ProtoGcdPreset::kGeneral) {
    preset = ProtoGcdPreset::kReference;
    lambda_entropy = marginal_window = std::nullopt;
    marginal_scope = std::nullopt;
    class_shares = std::nullopt;
    first_prototypes = std::nullopt;
  }
  if (epochs) {
    ramp_epochs = std::max<std::int64_t>(*epochs / 2, 1);
    ramp_wait = 0;
  }
}

void ProtoGcdOptions::change_epochs(std::int64_t before, std::int64_t now) {
  if (ramp_epochs && *ramp_epochs > 0)
    ramp_epochs = std::max<std::int64_t>(*ramp_epochs * now / before, 1);
  ramp_wait = ramp_wait * now / before;
}

std::map<std::string, std::string> ProtoGcdOptions::identity() const {
  std::map<std::string, std::string> contents = {
      {"prior", prior.empty() ? "uniform" : sha256_file(prior)}};
  if (!init_prototypes.empty()) contents["init_prototypes"] = sha256_file(init_prototypes);
  return contents;
}

std::unique_ptr<Method> ProtoGcdOptions::make(const MethodInput& input) const {
  ProtoGcdOptions complete = *this;
  complete.resolve({.epochs = input.epochs});
  if (!init_prototypes.empty() && complete.first_prototypes == FirstPrototypes::kKmeans) {
    throw UsageError(fmt::format("{} and {} kmeans contradict each other",
                                 option_name("init_prototypes"), option_name("first_prototypes")));
  }
  if (!init_prototypes.empty() && input.taken.prototypes.defined()) {
    throw UsageError(fmt::format("{} and {} contradict each other: both say how classes begin",
                                 option_name("init_prototypes"), option_name("from")));
  }
  return std::make_unique<ProtoGcd>(complete, input);
}

at::Tensor read_prototypes(const std::filesystem::path& file, std::int64_t classes,
                           std::int64_t width) {
  const StateDict state = load_state_dict(file);
  if (state.tensors.size() != 1) {
    throw ModelFileError(fmt::format("{}: {} tensors, expected one with the first prototypes",
                                     file.string(), state.tensors.size()));
  }
  const auto& [name, tensor] = *state.tensors.begin();
  if (tensor.dim() != 2 || tensor.size(0) < classes || tensor.size(1) != width) {
    throw ModelFileError(
        fmt::format("{}: '{}' is {}, expected [{} or more, {}]: a row for each old "
                    "class",
                    file.string(), name, fmt::join(tensor.sizes(), " x "), classes, width));
  }
  return tensor.narrow(0, 0, classes);
}

ExpectedShares counted_shares(const MethodInput& input, MarginalScope scope) {
  const auto number = [](std::int64_t count) { return static_cast<double>(count); };
  const std::size_t old = input.labelled_of_class.size();
  const double size = number(input.labelled + input.unlabelled) / number(input.k());
  std::vector<double> shares(input.classes.size(), size), labelled(input.classes.size(), 0);
  double unevenness = 0;
  if (input.labelled > 0) {
    const double mean = number(input.labelled) / number(input.old_classes);
    const double chance = std::min(mean / size, 1.0);  // of an image of an old class to be labelled
    double spread = 0;
    for (std::size_t c = 0; c < old; ++c) {
      labelled[c] = number(input.labelled_of_class[c]);
      spread += (labelled[c] - mean) * (labelled[c] - mean);
    }
    spread /= std::max(number(input.old_classes) - 1, 1.0);
    // What classes of one size would have by chance; the rest of the spread is that of their sizes.
    const double by_chance = mean * (1 - chance), by_size = std::max(spread - by_chance, 0.0);
    const double trust = by_size > 0 ? by_size / spread : 0;
    unevenness = by_size / (mean * mean);
    constexpr double kLeast = 0.1;  // of a class, that is not labelled: nobody labels all of one
    for (std::size_t c = 0; c < old; ++c) {
      const double own = size + trust * (labelled[c] / chance - size);
      shares[c] = std::max(own - labelled[c], kLeast * std::max(own, kLeast * size));
    }
  }
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::size_t c = 0; c < shares.size(); ++c) {
    shares[c] /= all;
    if (scope == MarginalScope::kBatch && input.labelled > 0)
      shares[c] =
          (shares[c] + labelled[c] / number(input.labelled)) / 2;  // as data/sampler.h draws
  }
  return {.shares = std::move(shares), .unevenness = unevenness};
}

std::vector<double> read_prior(const std::filesystem::path& file,
                               const std::vector<std::string>& classes) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t name = table.column("class"), share = table.column("share");
  std::vector<double> prior(classes.size(), 0);
  double total = 0;
  std::size_t named = 0;
  for (const CsvRow& row : table.rows()) {
    const auto found = std::ranges::find(classes, row.fields[name]);
    if (found == classes.end()) {
      throw DataError(fmt::format("{}: there is no class '{}'", table.where(row), row.fields[name]),
                      fmt::format("the classes are {}", join(classes, ", ")));
    }
    const auto value = parse_real(row.fields[share]);
    double& place = prior[static_cast<std::size_t>(found - classes.begin())];
    if (!value || !(*value > 0) || *value > 1 || place > 0) {
      throw DataError(fmt::format("{}: '{}' is {}", table.where(row), row.fields[share],
                                  place > 0 ? "a second share of its class"
                                            : "no share, expected a number above 0 and up to 1"));
    }
    place = *value;
    total += *value;
    ++named;
  }
  const std::size_t rest = classes.size() - named;
  constexpr double kRounding = 1e-3;  // shares are often written with few digits
  if (total > 1 + kRounding || (rest == 0 && total < 1 - kRounding) || (rest > 0 && total >= 1)) {
    throw DataError(fmt::format("{}: the shares of {} of {} classes add up to {:.4f}", table.name(),
                                named, classes.size(), total));
  }
  for (double& value : prior) {
    value = value > 0 ? value / std::max(total, rest == 0 ? total : 1.0)
                      : (1 - total) / static_cast<double>(rest);
  }
  return prior;
}

}  // namespace protogcd
