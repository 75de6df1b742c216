// The preset `paper`, of which no release exists to compare with: losses and one step of a head of
// 65,536 numbers, and the choice of hard labels among all unlabelled images, against plain loops in
// float64 that share nothing with the program. Derivatives come from numbers that carry them.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "protogcd/methods/protogcd/protogcd.h"
#include "protogcd/nn/sgd.h"

namespace protogcd {
namespace {

/// A number and its derivative by one parameter.
struct Dual {
  double value = 0, slope = 0;
  Dual(double v = 0, double s = 0) : value(v), slope(s) {}  // NOLINT: numbers are constants
  Dual& operator+=(const Dual& b) { return *this = {value + b.value, slope + b.slope}; }
};
Dual operator+(Dual a, const Dual& b) {
  return a += b;
}
Dual operator-(const Dual& a, const Dual& b) {
  return {a.value - b.value, a.slope - b.slope};
}
Dual operator*(const Dual& a, const Dual& b) {
  return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
Dual operator/(const Dual& a, const Dual& b) {
  return {a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value)};
}
Dual exp(const Dual& a) {
  return {std::exp(a.value), a.slope * std::exp(a.value)};
}
Dual log(const Dual& a) {
  return {std::log(a.value), a.slope / a.value};
}
Dual sqrt(const Dual& a) {
  return {std::sqrt(a.value), a.slope / (2 * std::sqrt(a.value))};
}
Dual gelu(const Dual& a) {
  const double x = a.value, cdf = 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
  return {x * cdf, a.slope * (cdf + x * density)};
}

using Row = std::vector<Dual>;
using Matrix = std::vector<Row>;

Matrix matrix_of(const at::Tensor& tensor) {  // [R, C]
  Matrix rows(static_cast<std::size_t>(tensor.size(0)));
  for (std::int64_t i = 0; i < tensor.size(0); ++i)
    for (std::int64_t j = 0; j < tensor.size(1); ++j)
      rows[static_cast<std::size_t>(i)].emplace_back(tensor[i][j].item<double>());
  return rows;
}

Dual dot(const Row& a, const Row& b) {
  Dual sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Row unit(Row row) {
  const Dual length = sqrt(dot(row, row));
  for (Dual& value : row) value = value / length;
  return row;
}

Matrix units(const Matrix& rows) {
  Matrix result;
  for (const Row& row : rows) result.push_back(unit(row));
  return result;
}

/// log softmax of row / tau.
Row log_softmax(const Row& row, double tau) {
  Dual sum;
  for (const Dual& value : row) sum += exp(value / tau);
  Row result;
  for (const Dual& value : row) result.push_back(value / tau - log(sum));
  return result;
}

// The paper's values: section V and the appendix on hyper-parameters.
constexpr double kLambdaSup = 0.35, kLambdaEntropy = 2, kLambdaSep = 0.1, kTauBase = 0.1,
                 kTauSharp = 0.05, kTauContrast = 0.07, kTauSep = 0.1;
constexpr std::int64_t kWide = 65536, kWidth = 6, kClasses = 5, kOld = 3, kLabelled = 6,
                       kUnlabelled = 10, kBatch = 5;

struct Problem {
  std::map<std::string, Matrix> parameters;  ///< a bias is a matrix of one row
  Matrix features;                           ///< [2B, D]
  std::vector<int> labels;                   ///< [B]
  std::vector<bool> labelled, hard;          ///< [B]
};

struct Terms {
  Dual sup, dapl, entropy, separation, unsup_con, sup_con, total;
};

Row linear(const Row& x, const Problem& p, const std::string& name) {
  Row y;
  const Matrix& weight = p.parameters.at(name + ".weight");
  for (std::size_t i = 0; i < weight.size(); ++i)
    y.push_back(dot(weight[i], x) + p.parameters.at(name + ".bias")[0][i]);
  return y;
}

/// h of every row after the wide layer, normalised.
Matrix projections(const Problem& p) {
  const Matrix wide = units(p.parameters.at("last_layer.weight_v"));
  Matrix result;
  for (const Row& feature : p.features) {
    Row first = linear(feature, p, "mlp.0");
    for (Dual& value : first) value = gelu(value);
    Row second = linear(first, p, "mlp.2");
    for (Dual& value : second) value = gelu(value);
    const Row narrow = unit(linear(second, p, "mlp.4"));
    Row row;
    for (const Row& direction : wide) row.push_back(dot(direction, narrow));
    result.push_back(unit(row));
  }
  return result;
}

/// Eq. 4 and 5: each anchor's mean of -log softmax over its positives, mean over the anchors.
Dual contrast(const Matrix& similarities, const std::vector<std::size_t>& rows,
              const std::function<bool(std::size_t, std::size_t)>& is_positive) {
  Dual total;
  for (const std::size_t i : rows) {
    Dual denominator, numerators;
    int positives = 0;
    for (const std::size_t j : rows)
      if (j != i) denominator += exp(similarities[i][j] / kTauContrast);
    for (const std::size_t j : rows) {
      if (j == i || !is_positive(i, j)) continue;
      numerators += similarities[i][j] / kTauContrast - log(denominator);
      ++positives;
    }
    total += Dual(0) - numerators / positives;
  }
  return total / static_cast<double>(rows.size());
}

/// Eq. 9: what the other view is taught. No derivative passes through it.
std::vector<double> pseudo_label(const Row& cosines, bool is_hard) {
  const Row log_q = log_softmax(cosines, kTauSharp);
  std::vector<double> label;
  for (const Dual& value : log_q) label.push_back(std::exp(value.value));
  if (!is_hard) return label;
  const auto best = std::ranges::max_element(label) - label.begin();
  std::vector<double> one_hot(label.size(), 0);
  one_hot[static_cast<std::size_t>(best)] = 1;
  return one_hot;
}

Terms losses(const Problem& p) {
  const auto images = p.labels.size(), rows = 2 * images;
  const Matrix prototypes = units(p.parameters.at("prototype_layer.weight_v")),
               features = units(p.features), h = projections(p);
  Matrix cosines(rows), similarities(rows, Row(rows));
  for (std::size_t i = 0; i < rows; ++i) {
    for (const Row& prototype : prototypes) cosines[i].push_back(dot(prototype, features[i]));
    for (std::size_t j = 0; j < rows; ++j) similarities[i][j] = dot(h[i], h[j]);
  }
  Terms terms;
  Row marginal(kClasses);
  std::vector<std::size_t> all(rows), labelled;
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t image = i % images, other = (i + images) % rows;
    const Row log_p = log_softmax(cosines[i], kTauBase);
    for (std::size_t k = 0; k < kClasses; ++k) marginal[k] += exp(log_p[k]) / double(rows);
    const auto taught = pseudo_label(cosines[other], p.hard[image]);
    for (std::size_t k = 0; k < kClasses; ++k)
      terms.dapl += Dual(0) - log_p[k] * taught[k] / double(rows);
    if (!p.labelled[image]) continue;
    labelled.push_back(i);
    terms.sup += Dual(0) - log_p[static_cast<std::size_t>(p.labels[image])];
  }
  terms.sup = terms.sup / double(labelled.size());
  for (const Dual& share : marginal) terms.entropy += share * log(share);
  terms.entropy += std::log(double(kClasses));  // a constant that makes 0 the least
  for (std::size_t i = 0; i < prototypes.size(); ++i) {
    Dual sum;
    for (std::size_t j = 0; j < prototypes.size(); ++j)
      if (j != i) sum += exp(dot(prototypes[i], prototypes[j]) / kTauSep);
    terms.separation += log(sum / double(kClasses - 1)) / double(kClasses);
  }
  terms.unsup_con = contrast(
      similarities, all, [&](std::size_t i, std::size_t j) { return i % images == j % images; });
  terms.sup_con = contrast(similarities, labelled, [&](std::size_t i, std::size_t j) {
    return p.labels[i % images] == p.labels[j % images];
  });
  terms.total = (terms.dapl + terms.unsup_con) * (1 - kLambdaSup) +
                (terms.sup + terms.sup_con) * kLambdaSup + terms.entropy * kLambdaEntropy +
                terms.separation * kLambdaSep;
  return terms;
}

class Unlabelled : public SetFeatures {
 public:
  explicit Unlabelled(at::Tensor rows) : rows_(std::move(rows)) {}
  std::int64_t count(SampleSet) const override { return rows_.size(0); }
  void for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) override {
    ASSERT_EQ(set, SampleSet::kUnlabelled);
    use(rows_.narrow(0, 0, 4));
    use(rows_.narrow(0, 4, rows_.size(0) - 4));
  }
  at::Tensor labels() const override { return {}; }

 private:
  at::Tensor rows_;
};

class PaperPreset : public ::testing::Test {
 protected:
  PaperPreset() {
    ProtoGcdOptions options;
    options.preset = ProtoGcdPreset::kPaper;
    options.head.hidden = 4;
    options.head.projection = 5;
    method = options.make({.width = kWidth,
                           .classes = std::vector<std::string>(kClasses, "class"),
                           .old_classes = kOld,
                           .labelled = kLabelled,
                           .unlabelled = kUnlabelled,
                           .labelled_of_class = {2, 2, 2},
                           .epochs = 20,
                           .seed = 7,
                           .type = at::kDouble});
    for (const auto& [name, tensor] : method->parameters())
      if (name.starts_with("mlp") && tensor.dim() == 2) tensor.mul_(30);  // far from linear
    at::manual_seed(3);
    set = at::randn({kUnlabelled, kWidth}, at::kDouble);
    batch.features = at::randn({2 * kBatch, kWidth}, at::kDouble);
    batch.labels = at::tensor({0, 2, 0, 1, 1}, at::kLong);
    batch.labelled = at::tensor({1., 0., 0., 1., 0.}, at::kDouble);
  }

  /// Plain numbers of what the method is given.
  Problem problem() const {
    Problem p{.parameters = {},
              .features = matrix_of(batch.features),
              .labels = {0, 2, 0, 1, 1},
              .labelled = {true, false, false, true, false},
              .hard = hard};
    for (const auto& [name, tensor] : method->parameters())
      p.parameters[name] =
          matrix_of(tensor.detach().dim() == 1 ? tensor.detach().unsqueeze(0) : tensor.detach());
    return p;
  }

  /// Places of the unlabelled images from the most to the least confident, by loops (Eq. 8).
  std::vector<std::int64_t> by_confidence() const {
    const Matrix prototypes =
                     units(matrix_of(method->parameters().at("prototype_layer.weight_v").detach())),
                 features = units(matrix_of(set));
    std::vector<double> confidence;
    for (const Row& feature : features) {
      std::vector<double> p;
      for (const Row& prototype : prototypes)
        p.push_back(std::exp(dot(prototype, feature).value / kTauSharp));
      std::ranges::sort(p, std::greater<>());
      confidence.push_back(p[0] / p[1]);
    }
    std::vector<std::int64_t> order(confidence.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, std::greater<>(),
                      [&](std::int64_t i) { return confidence[static_cast<std::size_t>(i)]; });
    return order;
  }

  std::unique_ptr<Method> method;
  at::Tensor set;
  StepBatch batch;
  std::vector<bool> hard;
};

TEST_F(PaperPreset, LossesAndOneStepOfTheWideHeadAreThoseOfPlainLoops) {
  ASSERT_EQ(method->parameters().at("last_layer.weight_v").size(0), kWide);
  // Epoch 3 of a ramp of 10: the three most confident of ten are hard. Two of them, one that is
  // not, and two labelled images are in the batch.
  const auto order = by_confidence();
  const std::vector<std::int64_t> places = {1, kLabelled + order[0], kLabelled + order[2], 4,
                                            kLabelled + order[3]};
  hard = {false, true, true, false, false};
  batch.places = at::tensor(places, at::kLong);
  Unlabelled sets(set);
  method->begin_epoch({.epoch = 3, .images_per_step = kBatch, .sets = sets});

  const Problem before = problem();
  const Terms expected = losses(before);
  FlatParameters flat(method->parameters());
  SingleProcess alone;
  const StepLoss found = method->loss({batch}, alone);
  const auto names = method->reported();
  const std::map<std::string, double> by_name = {{"sup", expected.sup.value},
                                                 {"dapl", expected.dapl.value},
                                                 {"entropy", expected.entropy.value},
                                                 {"separation", expected.separation.value},
                                                 {"unsup_con", expected.unsup_con.value},
                                                 {"sup_con", expected.sup_con.value}};
  int compared = 0;
  for (std::size_t i = 0; i < found.reported.size(); ++i) {
    const auto term = by_name.find(names[i].name);
    if (term == by_name.end()) continue;
    EXPECT_NEAR(found.reported[i].item<double>(), term->second, 1e-10) << names[i].name;
    ++compared;
  }
  EXPECT_EQ(compared, 6);
  EXPECT_NEAR(found.total.item<double>(), expected.total.value, 1e-10);

  constexpr double kRate = 0.1, kDecay = 5e-5;
  found.total.backward();
  Sgd(flat, {}).step(at::scalar_tensor(kRate, at::kDouble));
  for (const auto& [name, tensor] : method->parameters()) {
    const at::Tensor after =
        tensor.detach().dim() == 1 ? tensor.detach().unsqueeze(0) : tensor.detach();
    const Matrix& was = before.parameters.at(name);
    for (const std::size_t part : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      const std::size_t row = part * (was.size() - 1) / 2, column = part * (was[0].size() - 1) / 2;
      Problem moved = before;
      moved.parameters[name][row][column].slope = 1;
      const double value = was[row][column].value, decay = name.ends_with("bias") ? 0 : kDecay,
                   slope = losses(moved).total.slope;
      EXPECT_NEAR(
          after[static_cast<std::int64_t>(row)][static_cast<std::int64_t>(column)].item<double>(),
          value - kRate * (slope + decay * value), 1e-10)
          << name << " " << row << " " << column;
    }
  }
}

TEST_F(PaperPreset, HardLabelsAreThoseOfTheMostConfidentUnlabelledImagesOfTheWholeSet) {
  const auto order = by_confidence();
  Unlabelled sets(set);
  for (const std::int64_t epoch : {0, 1, 4, 9, 10, 15}) {
    method->begin_epoch({.epoch = epoch, .images_per_step = kBatch, .sets = sets});
    std::vector<double> expected(kLabelled + kUnlabelled, 0);  // labelled images keep soft ones
    for (std::int64_t i = 0; i < std::min<std::int64_t>(epoch, kUnlabelled); ++i)
      expected[static_cast<std::size_t>(kLabelled + order[static_cast<std::size_t>(i)])] = 1;
    EXPECT_TRUE(at::equal(method->state().at("hard"), at::tensor(expected, at::kDouble))) << epoch;
  }
}

}  // namespace
}  // namespace protogcd
