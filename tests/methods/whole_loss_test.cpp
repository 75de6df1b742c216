// Whole steps of UNO+, RankStats+, ORCA and ProtoGCD+, as the methods themselves put them together,
// against loops over images and classes that are written from the definitions. (Their parts are
// held to the releases in the golden tests.)
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "protogcd/methods/pairing.h"
#include "protogcd/methods/registry.h"
#include "tests/support/no_sets.h"

namespace protogcd {
namespace {

constexpr std::int64_t kImages = 6, kWidth = 9, kClasses = 5, kOld = 3;

using testing::NoSets;

using Numbers = std::vector<at::Tensor>;  // scalars with a graph
using Rows = std::vector<Numbers>;

Rows rows_of(const at::Tensor& matrix) {
  Rows rows(static_cast<std::size_t>(matrix.size(0)));
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = matrix[static_cast<std::int64_t>(i)].unbind(0);
  return rows;
}

at::Tensor dot(const Numbers& one, const Numbers& other) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::size_t i = 0; i < one.size(); ++i) sum = sum + one[i] * other[i];
  return sum;
}

Numbers unit(const Numbers& row) {
  const at::Tensor length = dot(row, row).sqrt();
  Numbers result;
  for (const at::Tensor& number : row) result.push_back(number / length);
  return result;
}

Numbers times(Numbers row, double factor) {
  for (at::Tensor& number : row) number = number * factor;
  return row;
}

/// Of one row's logits.
Numbers softmax(const Numbers& logits) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const at::Tensor& logit : logits) sum = sum + logit.exp();
  Numbers result;
  for (const at::Tensor& logit : logits) result.push_back(logit.exp() / sum);
  return result;
}

/// A step of a method on given features, and what a loop makes of the same.
class WholeLoss {
 public:
  WholeLoss(const std::string& name, const std::map<std::string, std::string>& options) {
    MethodChoice choice = find_method(name);
    OptionTable table;
    choice->declare(table);
    for (const auto& [key, value] : options)
      EXPECT_FALSE(table.find(key)->assign(std::vector<std::string>{value}, OptionSource::kFlag));
    method_ = choice->make({.width = kWidth,
                            .classes = std::vector<std::string>(kClasses),
                            .old_classes = kOld,
                            .unlabelled = 30,
                            .epochs = 200,
                            .type = at::kDouble});
    at::manual_seed(11);
    for (const auto& [parameter, tensor] : method_->parameters()) {
      if (tensor.dim() == 1) tensor.copy_(at::rand_like(tensor));  // biases that are 0 hide
      // Fresh ones are so small that all images look the same beside such biases.
      if (parameter.starts_with("mlp.")) tensor.copy_(at::randn_like(tensor));
      own_[parameter] = tensor.clone().requires_grad_(true);
      tensor.requires_grad_(true);
    }
    features_ = at::randn({2 * kImages, kWidth}, at::kDouble);
    // Two unlabelled images whose largest features stand at the same places.
    features_[5].copy_(features_[3] + 1e-3);
    own_features_ = features_.clone().requires_grad_(true);
    features_.requires_grad_(true);
    batches_ = {{.labels = at::tensor({2, 0, 2, 0, 0, 0}, at::kLong),
                 .labelled = at::tensor({1, 1, 1, 0, 0, 0}, at::kDouble),
                 .places = at::arange(kImages),
                 .features = features_}};
    if (const auto teacher = method_->teacher()) {
      for (const auto& [parameter, tensor] : teacher->parameters) tensor.normal_();
      batches_.push_back(batches_[0]);
      batches_[1].features = at::randn({2 * kImages, kWidth}, at::kDouble).requires_grad_(true);
    }
  }

  Method& method() { return *method_; }
  const StepBatch& batch() const { return batches_[0]; }
  std::int64_t label(std::size_t image) const {
    return batch().labels[static_cast<std::int64_t>(image)].item<std::int64_t>();
  }
  bool is_labelled(std::size_t image) const {
    return batch().labelled[static_cast<std::int64_t>(image)].item<double>() > 0;
  }
  /// For the loop: its own copies.
  Rows features() const { return rows_of(own_features_); }
  Rows matrix(const std::string& name) const { return rows_of(own_.at(name)); }
  Numbers vector(const std::string& name) const { return own_.at(name).unbind(0); }
  /// What the teacher sees, and its own tensors: nothing is to be learned through them.
  Rows teacher_features() const { return rows_of(batches_[1].features.detach()); }
  Rows teacher_matrix(const std::string& name) const {
    return rows_of(method_->teacher()->parameters.at(name).detach());
  }

  void expect_equal(const at::Tensor& by_loops) {
    SingleProcess alone;
    const at::Tensor total = method_->loss(batches_, alone).total;
    EXPECT_NEAR(total.item<double>(), by_loops.item<double>(), 1e-9);
    total.backward();
    by_loops.backward();
    expect_equal(features_.grad(), own_features_.grad(), "features");
    for (const auto& [name, tensor] : method_->parameters())
      expect_equal(tensor.grad(), own_.at(name).grad(), name);
    for (std::size_t i = 1; i < batches_.size(); ++i)
      EXPECT_FALSE(batches_[i].features.grad().defined());
  }

 private:
  static void expect_equal(const at::Tensor& actual, const at::Tensor& expected,
                           const std::string& name) {
    ASSERT_TRUE(actual.defined() && expected.defined()) << name;
    // The normalisation behind it takes this one out again.
    const bool is_taken_out = name == "over.mlp.0.bias";
    EXPECT_EQ(expected.abs().max().item<double>() < 1e-6, is_taken_out) << name;
    EXPECT_LT((actual - expected).abs().max().item<double>(),
              1e-9 * std::max(1.0, expected.abs().max().item<double>()))
        << name;
  }

  std::unique_ptr<Method> method_;
  std::map<std::string, at::Tensor> own_;
  at::Tensor features_, own_features_;
  std::vector<StepBatch> batches_;
};

constexpr std::size_t kRows = 2 * kImages, kPerView = kImages;

// UNO+ ------------------------------------------------------------------------------------------

/// Each unlabelled row's shares of the classes, such that all are used equally: by plain numbers.
std::map<std::size_t, std::vector<double>> shared_evenly(const WholeLoss& step, const Rows& cosines,
                                                         std::size_t first) {
  std::map<std::size_t, std::vector<double>> q;
  double all = 0;
  for (std::size_t i = 0; i < kPerView; ++i) {
    if (step.is_labelled(i)) continue;
    for (const at::Tensor& cosine : cosines[first + i]) {
      q[first + i].push_back(std::exp(cosine.item<double>() / 0.05));
      all += q[first + i].back();
    }
  }
  const std::size_t classes = cosines[0].size();
  for (auto& [row, shares] : q)
    for (double& share : shares) share /= all;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t k = 0; k < classes; ++k) {
      double sum = 0;
      for (const auto& [row, shares] : q) sum += shares[k];
      for (auto& [row, shares] : q) shares[k] /= sum * static_cast<double>(classes);
    }
    for (auto& [row, shares] : q) {
      double sum = 0;
      for (const double share : shares) sum += share;
      for (double& share : shares) share /= sum;
    }
  }
  return q;
}

at::Tensor uno_by_loops(const WholeLoss& step, const Rows& cosines) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (const std::size_t first : {std::size_t{0}, kPerView}) {
    auto targets = shared_evenly(step, cosines, first);
    for (std::size_t i = 0; i < kPerView; ++i) {
      std::vector<double>& target = targets[first + i];
      target.resize(cosines[0].size(), 0);
      if (step.is_labelled(i)) target[static_cast<std::size_t>(step.label(i))] = 1;
      const Numbers other = softmax(times(cosines[(kPerView - first) + i], 1 / 0.1));
      for (std::size_t k = 0; k < target.size(); ++k) sum = sum - other[k].log() * target[k];
    }
  }
  return sum / static_cast<double>(kRows);
}

Rows cosines_with(const Rows& rows, const Rows& prototypes) {
  Rows cosines;
  for (const Numbers& row : rows) {
    cosines.emplace_back();
    for (const Numbers& prototype : prototypes) cosines.back().push_back(dot(unit(row), prototype));
  }
  return cosines;
}

/// What the second head's prototypes see of the rows of one view.
Rows over_projected(const WholeLoss& step, const Rows& view) {
  const Rows first = step.matrix("over.mlp.0.weight"), last = step.matrix("over.mlp.3.weight");
  const Numbers first_bias = step.vector("over.mlp.0.bias"),
                scale = step.vector("over.mlp.1.weight"), shift = step.vector("over.mlp.1.bias"),
                last_bias = step.vector("over.mlp.3.bias");
  const auto count = static_cast<double>(view.size());
  Rows inner(view.size());
  for (std::size_t h = 0; h < first.size(); ++h) {
    Numbers column;
    at::Tensor mean = at::zeros({}, at::kDouble), variance = at::zeros({}, at::kDouble);
    for (const Numbers& row : view) {
      column.push_back(dot(first[h], row) + first_bias[h]);
      mean = mean + column.back() / count;
    }
    for (const at::Tensor& value : column) variance = variance + (value - mean).square() / count;
    for (std::size_t i = 0; i < view.size(); ++i)
      inner[i].push_back(
          ((column[i] - mean) / (variance + 1e-5).sqrt() * scale[h] + shift[h]).clamp_min(0));
  }
  Rows outer(view.size());
  for (std::size_t i = 0; i < view.size(); ++i)
    for (std::size_t p = 0; p < last.size(); ++p)
      outer[i].push_back(dot(last[p], inner[i]) + last_bias[p]);
  return outer;
}

TEST(WholeLoss, UnoWithAndWithoutItsSecondHead) {
  WholeLoss one("uno", {});
  one.expect_equal(
      uno_by_loops(one, cosines_with(one.features(), one.matrix("prototypes.weight"))));

  WholeLoss two("uno", {{"overclustering", "2"}, {"over_hidden", "7"}, {"over_projection", "4"}});
  const Rows features = two.features();
  const Rows cosines = cosines_with(features, two.matrix("prototypes.weight"));
  Rows finer;
  for (const std::size_t first : {std::size_t{0}, kPerView}) {
    const auto begin = features.begin() + static_cast<std::ptrdiff_t>(first);
    const Rows fine = cosines_with(over_projected(two, {begin, begin + kImages}),
                                   two.matrix("over.prototypes.weight"));
    for (std::size_t i = 0; i < kPerView; ++i) {
      finer.emplace_back(cosines[first + i].begin(), cosines[first + i].begin() + kOld);
      finer.back().insert(finer.back().end(), fine[i].begin(), fine[i].end());
    }
  }
  two.expect_equal((uno_by_loops(two, cosines) + uno_by_loops(two, finer)) / 2);
}

// RankStats+ --------------------------------------------------------------------------------------

std::set<std::size_t> five_largest(const Numbers& row) {
  std::multimap<double, std::size_t> order;
  for (std::size_t i = 0; i < row.size(); ++i) order.emplace(-row[i].item<double>(), i);
  std::set<std::size_t> places;
  for (auto next = order.begin(); places.size() < 5; ++next) places.insert(next->second);
  return places;
}

TEST(WholeLoss, RankStatsAtAnEpochWhoseConsistencyHasHalfRisen) {
  WholeLoss step("rankstats", {{"feature_length", "3"}, {"consistency_epochs", "150"}});
  NoSets none;
  step.method().begin_epoch({.epoch = 100, .images_per_step = kImages, .sets = none});
  const Rows features = step.features(), weight = step.matrix("head.weight");
  const Numbers bias = step.vector("head.bias");
  Rows logits, p;
  for (const Numbers& row : features) {
    const Numbers seen = times(unit(row), 3);
    logits.emplace_back();
    for (std::size_t k = 0; k < weight.size(); ++k)
      logits.back().push_back(dot(weight[k], seen) + bias[k]);
    p.push_back(softmax(logits.back()));
  }
  at::Tensor cls = at::zeros({}, at::kDouble), pairs = cls, consistency = cls;
  std::size_t labelled = 0, same_pairs = 0;
  for (std::size_t i = 0; i < kPerView; ++i) {
    for (std::size_t k = 0; k < weight.size(); ++k)
      consistency = consistency + (p[i][k] - p[kPerView + i][k]).square();
    if (step.is_labelled(i)) {
      const Numbers old = softmax({logits[i].begin(), logits[i].begin() + kOld});
      cls = cls - old[static_cast<std::size_t>(step.label(i))].log();
      ++labelled;
      continue;
    }
    for (std::size_t j = 0; j < kPerView; ++j) {
      if (step.is_labelled(j)) continue;
      const at::Tensor together = dot(p[kPerView + i], p[j]);
      const bool same = five_largest(features[i]) == five_largest(features[j]);
      if (same && i != j) ++same_pairs;
      pairs = pairs - ((same ? together : 1 - together) + 1e-7).log();
    }
  }
  EXPECT_EQ(same_pairs, 2u);
  const auto free = static_cast<double>(kPerView - labelled);
  const double rise = 50 * std::exp(-5 * std::pow(1 - 100.0 / 150, 2));
  step.expect_equal(cls / static_cast<double>(labelled) + pairs / (free * free) +
                    consistency / static_cast<double>(kPerView * weight.size()) * rise);
}

// ORCA --------------------------------------------------------------------------------------------

class Unlabelled : public SetFeatures {
 public:
  explicit Unlabelled(at::Tensor rows) : rows_(std::move(rows)) {}
  std::int64_t count(SampleSet set) const override {
    return set == SampleSet::kUnlabelled ? rows_.size(0) : 0;
  }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    if (set == SampleSet::kUnlabelled) use(rows_);
  }
  at::Tensor labels() const override { return at::empty({0}, at::kLong); }

 private:
  const at::Tensor rows_;
};

TEST(WholeLoss, OrcaWithTheMarginOfItsEpochAndWeightsOfItsTerms) {
  WholeLoss step("orca", {{"logit_scale", "7"},
                          {"most_margin", "0.9"},
                          {"pair_weight", "0.7"},
                          {"entropy_weight", "1.3"}});
  Rows prototypes;
  for (const Numbers& row : step.matrix("head.weight")) prototypes.push_back(unit(row));
  const auto logits_of = [&](const Numbers& row) {
    Numbers logits;
    for (const Numbers& prototype : prototypes) logits.push_back(dot(unit(row), prototype) * 7);
    return logits;
  };
  const at::Tensor seen = at::randn({8, kWidth}, at::kDouble);
  double margin = 1;
  for (const Numbers& row : rows_of(seen)) {
    double highest = 0;
    for (const at::Tensor& share : softmax(logits_of(row)))
      highest = std::max(highest, share.item<double>());
    margin -= highest / 8;
  }
  Unlabelled sets(seen);
  step.method().begin_epoch({.epoch = 0, .images_per_step = kImages, .sets = sets});

  const Rows features = step.features();
  SingleProcess alone;
  const at::Tensor by_label = labelled_partners(step.batch(), at::zeros({}, at::kLong), alone);
  at::Tensor cls = at::zeros({}, at::kDouble), pairs = cls;
  Numbers mean(kClasses, at::zeros({}, at::kDouble));
  std::size_t labelled = 0;
  for (std::size_t i = 0; i < kPerView; ++i) {
    Numbers logits = logits_of(features[i]);
    const Numbers p = softmax(logits);
    for (std::size_t k = 0; k < p.size(); ++k)
      mean[k] = mean[k] + p[k] / static_cast<double>(kPerView);
    std::size_t partner = i;
    if (step.is_labelled(i)) {
      partner =
          static_cast<std::size_t>(by_label[static_cast<std::int64_t>(i)].item<std::int64_t>());
      const auto own = static_cast<std::size_t>(step.label(i));
      logits[own] = logits[own] + 7 * margin;
      cls = cls - softmax(logits)[own].log();
      ++labelled;
    } else {
      double nearest = -2;
      for (std::size_t j = 0; j < kPerView; ++j) {
        const double cosine = dot(unit(features[i]), unit(features[j])).item<double>();
        if (j == i || cosine <= nearest) continue;
        nearest = cosine;
        partner = j;
      }
    }
    pairs = pairs - dot(p, softmax(logits_of(features[kPerView + partner]))).log() /
                        static_cast<double>(kPerView);
  }
  at::Tensor entropy = at::zeros({}, at::kDouble);
  for (const at::Tensor& share : mean) entropy = entropy - share * share.log();
  step.expect_equal(cls / static_cast<double>(labelled) + pairs * 0.7 - entropy * 1.3);
}

// ProtoGCD+ ---------------------------------------------------------------------------------------

/// One row a pseudo-label: one-hot for the teacher's `hard` most confident rows of each view.
std::vector<std::vector<double>> taught_labels(const Rows& teacher_cosines, std::size_t hard) {
  std::vector<std::vector<double>> labels;
  std::vector<double> confidence;
  for (const Numbers& row : teacher_cosines) {
    labels.emplace_back();
    for (const at::Tensor& share : softmax(times(row, 1 / 0.05)))
      labels.back().push_back(share.item<double>());
    std::vector<double> order = labels.back();
    std::ranges::sort(order, std::greater<>());
    confidence.push_back(order[0] / (order[1] + 1e-6));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::size_t first = i < kPerView ? 0 : kPerView;
    std::size_t before = 0;
    for (std::size_t j = first; j < first + kPerView; ++j) before += confidence[j] > confidence[i];
    if (before >= hard) continue;
    const auto largest = std::ranges::max_element(labels[i]) - labels[i].begin();
    labels[i].assign(labels[i].size(), 0);
    labels[i][static_cast<std::size_t>(largest)] = 1;
  }
  return labels;
}

/// Rows before normalisation.
Rows projected(const WholeLoss& step, const Rows& features) {
  Rows rows = features;
  for (const std::string layer : {"mlp.0", "mlp.2", "mlp.4"}) {
    const Rows weight = step.matrix(layer + ".weight");
    const Numbers bias = step.vector(layer + ".bias");
    for (Numbers& row : rows) {
      Numbers next;
      for (std::size_t h = 0; h < weight.size(); ++h) {
        const at::Tensor value = dot(weight[h], row) + bias[h];
        next.push_back(layer == "mlp.4" ? value
                                        : value * (1 + at::erf(value / std::sqrt(2.0))) / 2);
      }
      row = next;
    }
  }
  return rows;
}

/// The contrast of rows, each with those that `is_positive` says among those that `counts` says.
template <class Counts, class IsPositive>
at::Tensor contrasted(const Rows& rows, double temperature, const Counts& counts,
                      const IsPositive& is_positive) {
  at::Tensor sum = at::zeros({}, at::kDouble);
  double anchors = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!counts(i)) continue;
    at::Tensor all = at::zeros({}, at::kDouble), positive = all;
    double positives = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (j == i || !counts(j)) continue;
      const at::Tensor score = dot(unit(rows[i]), unit(rows[j])) / temperature;
      all = all + score.exp();
      if (!is_positive(i, j)) continue;
      positive = positive + score;
      ++positives;
    }
    sum = sum + all.log() - positive / positives;
    ++anchors;
  }
  return sum / anchors;
}

struct ProtoGcdPlusSetting {
  std::string preset;
  double entropy_weight, window;
  bool of_unlabelled;
};

void expect_protogcd_plus(const ProtoGcdPlusSetting& setting) {
  SCOPED_TRACE(setting.preset);
  WholeLoss step("protogcd-plus",
                 {{"preset", setting.preset}, {"head_hidden", "7"}, {"projection", "4"}});
  NoSets none;
  // Epoch 50 of a ramp of 100: three of six.
  step.method().begin_epoch({.epoch = 50, .images_per_step = kImages, .sets = none});

  const auto cosines_of = [](const Rows& rows, const Rows& prototypes) {
    Rows directions;
    for (const Numbers& prototype : prototypes) directions.push_back(unit(prototype));
    return cosines_with(rows, directions);
  };
  const std::string name = "prototype_layer.weight_v";
  const Rows features = step.features(), prototypes = step.matrix(name);
  const auto labels =
      taught_labels(cosines_of(step.teacher_features(), step.teacher_matrix(name)), 3);
  Numbers mean(kClasses, at::zeros({}, at::kDouble));
  at::Tensor dapl = at::zeros({}, at::kDouble), sup = dapl;
  const Rows cosines = cosines_of(features, prototypes);
  double labelled = 0, counted = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    const std::size_t image = i % kPerView;
    const Numbers p = softmax(times(cosines[i], 1 / 0.1));
    const bool counts = !setting.of_unlabelled || !step.is_labelled(image);
    counted += counts;
    for (std::size_t k = 0; k < p.size(); ++k) {
      dapl = dapl - p[k].log() * labels[(i + kPerView) % kRows][k] / static_cast<double>(kRows);
      if (counts) mean[k] = mean[k] + p[k];
    }
    if (!step.is_labelled(image)) continue;
    sup = sup - p[static_cast<std::size_t>(step.label(image))].log();
    ++labelled;
  }
  // Of a mean over a window of predictions, the earlier ones even, this step's part is learned.
  const double share = 1.0 / kClasses,
               kept = setting.window > 0 ? 1 - kPerView / (setting.window * kClasses) : 0;
  at::Tensor entropy = at::zeros({}, at::kDouble);
  for (const at::Tensor& sum : mean) {
    const at::Tensor now = sum / counted;
    entropy = entropy + now * ((kept * share + (1 - kept) * now.detach()).log() - std::log(share));
  }
  at::Tensor separation = at::zeros({}, at::kDouble);
  for (std::size_t k = 0; k < prototypes.size(); ++k) {
    at::Tensor others = at::zeros({}, at::kDouble);
    for (std::size_t j = 0; j < prototypes.size(); ++j)
      if (j != k) others = others + (dot(unit(prototypes[k]), unit(prototypes[j])) / 0.1).exp();
    separation = separation + (others / (kClasses - 1)).log() / kClasses;
  }
  const Rows rows = projected(step, features);
  const at::Tensor unsup_con = contrasted(
      rows, 1.0, [](std::size_t) { return true; },
      [](std::size_t i, std::size_t j) { return i % kPerView == j % kPerView; });
  const at::Tensor sup_con = contrasted(
      rows, 0.07, [&](std::size_t i) { return step.is_labelled(i % kPerView); },
      [&](std::size_t i, std::size_t j) {
        return step.label(i % kPerView) == step.label(j % kPerView);
      });
  step.expect_equal((dapl + unsup_con + entropy * setting.entropy_weight + separation * 0.1) *
                        0.65 +
                    (sup / labelled + sup_con) * 0.35);
}

TEST(WholeLoss, ProtoGcdPlusTakesPseudoLabelsOfTheTeacherAndTheRestOfItsOwnViews) {
  expect_protogcd_plus(
      {.preset = "reference", .entropy_weight = 2, .window = 0, .of_unlabelled = false});
  expect_protogcd_plus(
      {.preset = "general", .entropy_weight = 1.5, .window = 10, .of_unlabelled = true});
}

}  // namespace
}  // namespace protogcd
