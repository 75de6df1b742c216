// Outlier scores, their measures, and the distribution behind one of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "protogcd/analysis/outlier_measures.h"
#include "protogcd/analysis/outlier_scores.h"
#include "protogcd/analysis/von_mises_fisher.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

const std::vector<float> kCosines = {0.75f, -0.5f, 0.25f};

/// The formulas once more, from the posterior at temperature 0.1.
std::vector<double> posterior(const std::vector<float>& cosines) {
  std::vector<double> p;
  for (const float cosine : cosines) p.push_back(std::exp(cosine / 0.1));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

TEST(OutlierScores, FollowTheReleasedFormulas) {
  const OutlierScorer score(0.1);
  const auto p = posterior(kCosines);
  EXPECT_NEAR(score(OutlierScore::kMsp, kCosines), -p[0], 1e-12);
  EXPECT_NEAR(score(OutlierScore::kMls, kCosines), -0.75, 1e-12);
  EXPECT_NEAR(score(OutlierScore::kEnergy, kCosines),
              -std::log(std::exp(0.75) + std::exp(-0.5) + std::exp(0.25)), 1e-12);
  EXPECT_NEAR(score(OutlierScore::kPrototype, kCosines), -p[0] / (p[2] + 1e-6), 1e-9);
  EXPECT_NEAR(score(OutlierScore::kMargin, kCosines), -(p[0] - p[2]), 1e-12);
  EXPECT_NEAR(score(OutlierScore::kUniform, kCosines),
              (std::log(p[0]) + std::log(p[1]) + std::log(p[2])) / 3, 1e-12);
}

TEST(OutlierScores, OneClassAndEqualCosinesAreDefined) {
  const OutlierScorer score(0.1, std::vector<double>{5.0}, 8);
  for (const auto kind :
       {OutlierScore::kMsp, OutlierScore::kMls, OutlierScore::kEnergy, OutlierScore::kPrototype,
        OutlierScore::kMargin, OutlierScore::kUniform, OutlierScore::kVonMises}) {
    EXPECT_TRUE(std::isfinite(score(kind, std::vector<float>{0.5f}))) << name_of(kind);
  }
  const std::vector<float> equal(4, 0.5f);
  EXPECT_NEAR(OutlierScorer(0.1)(OutlierScore::kMsp, equal), -0.25, 1e-12);
  EXPECT_NEAR(OutlierScorer(0.1)(OutlierScore::kMargin, equal), 0, 1e-12);
}

TEST(OutlierScores, AreFoundByTheirNames) {
  for (const std::string_view name : outlier_score_names())
    EXPECT_EQ(name_of(find_outlier_score(name)), name);
  EXPECT_THROW(find_outlier_score("msq"), UsageError);
}

TEST(OutlierScores, OneSharedConcentrationRanksAsTheLargestCosine) {
  const OutlierScorer score(0.1, std::vector<double>{40, 40, 40}, 32);
  RandomStream random({.seed = 3});
  std::vector<std::vector<float>> images(200);
  for (auto& cosines : images) {
    for (int k = 0; k < 3; ++k) cosines.push_back(static_cast<float>(random.uniform(-1, 1)));
  }
  const auto order_by = [&](OutlierScore kind) {
    std::vector<std::size_t> order(images.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::sort(order, {}, [&](std::size_t i) { return score(kind, images[i]); });
    return order;
  };
  EXPECT_EQ(order_by(OutlierScore::kVonMises), order_by(OutlierScore::kMls));
}

TEST(OutlierScores, AWideClassForgivesMore) {
  // Cosine 0.6 is usual in a wide class, far out in a narrow one.
  const OutlierScorer score(0.1, std::vector<double>{20, 400}, 32);
  EXPECT_LT(score(OutlierScore::kVonMises, std::vector<float>{0.6f, -1.0f}),
            score(OutlierScore::kVonMises, std::vector<float>{-1.0f, 0.6f}));
}

TEST(OutlierScores, ConcentrationsAreFittedToEachClass) {
  const std::vector<std::int32_t> classes = {0, 0, 1, 1, 2};
  const std::vector<float> cosines = {0.5f, 0.75f, 0.875f, 0.9375f, 0.25f};
  const auto fitted = fit_concentrations(classes, cosines, 4, 16);
  EXPECT_NEAR(vmf_mean_cosine(fitted[0], 16), 0.625, 1e-9);
  EXPECT_NEAR(vmf_mean_cosine(fitted[1], 16), 0.90625, 1e-9);
  // One image or none: the concentration of all images together.
  EXPECT_NEAR(vmf_mean_cosine(fitted[2], 16), 0.6625, 1e-9);
  EXPECT_EQ(fitted[3], fitted[2]);
}

TEST(VonMisesFisher, MatchesValuesOfScipy) {
  struct Case {
    double concentration;
    std::int64_t dimension;
    double log_normaliser, mean_cosine;
  };
  const Case cases[] = {{0.5, 3, -2.57234910158221, 0.1639534137386528},
                        {10, 3, -9.535291971354148, 0.9000000041223073},
                        {2.5, 2, -3.0287157376053733, 0.7649967475888098},
                        {50, 16, -33.95226719162382, 0.8599000156617572},
                        {1000, 192, -511.3153918374005, 0.9090067185752796},
                        {20000, 192, -19229.5085746084, 0.9952362814379474}};
  for (const Case& one : cases) {
    EXPECT_NEAR(vmf_log_normaliser(one.concentration, one.dimension), one.log_normaliser,
                1e-11 * std::max(1.0, std::abs(one.log_normaliser)));
    EXPECT_NEAR(vmf_mean_cosine(one.concentration, one.dimension), one.mean_cosine, 1e-11);
  }
  // In three dimensions: kappa / (4 pi sinh kappa).
  EXPECT_NEAR(vmf_log_normaliser(2, 3), std::log(2 / (4 * M_PI * std::sinh(2))), 1e-12);
  EXPECT_NEAR(vmf_log_normaliser(0, 3), -std::log(4 * M_PI), 1e-12);
  EXPECT_NEAR(vmf_log_normaliser(1e-9, 192), vmf_log_normaliser(0, 192), 1e-6);
}

TEST(VonMisesFisher, TheFittedConcentrationGivesTheMeanCosineBack) {
  for (const std::int64_t dimension : {2, 3, 64, 768}) {
    for (const double mean : {1e-4, 0.1, 0.5, 0.9, 0.99}) {
      EXPECT_NEAR(vmf_mean_cosine(vmf_concentration(mean, dimension), dimension), mean, 1e-9)
          << mean << " in " << dimension;
    }
  }
  EXPECT_EQ(vmf_concentration(0, 64), 0);
  EXPECT_EQ(vmf_concentration(-0.5, 64), 0);
  EXPECT_EQ(vmf_concentration(1, 64), kMaxConcentration);
}

TEST(OutlierMeasures, OfASmallExample) {
  // The released measures of these confidences.
  std::vector<double> inside = {.9, .8, .7, .6, .4, .95, .88, .77}, outside = {.85, .5, .3, .2};
  for (double& score : inside) score = -score;
  for (double& score : outside) score = -score;
  const OutlierMeasures measures = measure_outliers(inside, outside);
  EXPECT_NEAR(measures.auroc, .8125, 1e-12);
  EXPECT_NEAR(measures.aupr_in, .8956845, 5e-8);
  EXPECT_NEAR(measures.fpr95_in, .5, 1e-12);
  EXPECT_NEAR(measures.aupr_out, .7986111, 5e-8);
  EXPECT_NEAR(measures.fpr95_out, .625, 1e-12);
}

TEST(OutlierMeasures, ConstantScoresTellNothing) {
  const std::vector<double> inside(30, 1.0), outside(10, 1.0);
  const OutlierMeasures measures = measure_outliers(inside, outside);
  EXPECT_DOUBLE_EQ(measures.auroc, 0.5);
  EXPECT_DOUBLE_EQ(measures.fpr95_in, 1);
  EXPECT_DOUBLE_EQ(measures.aupr_in, 0.75);
  EXPECT_DOUBLE_EQ(measures.aupr_out, 0.25);
}

TEST(OutlierMeasures, NothingToMeasureAndNotANumberAreErrors) {
  const std::vector<double> some = {1, 2}, none;
  const std::vector<double> broken = {1, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THROW(measure_outliers(none, some), DataError);
  EXPECT_THROW(measure_outliers(some, none), DataError);
  EXPECT_THROW(measure_outliers(broken, some), DataError);
  EXPECT_THROW(measure_outliers(some, broken), DataError);
  EXPECT_THROW(threshold_keeping({}, 0.95), DataError);
}

std::vector<double> normals(std::size_t count, double mean, std::uint64_t seed) {
  RandomStream random({.seed = seed});
  std::vector<double> values(count);
  for (double& value : values) value = mean + random.normal();
  return values;
}

TEST(SampledMeasures, DrawAsTheReleasedCodeOrBalanced) {
  const auto inside = normals(10000, 0, 1), outside = normals(9000, 1.5, 2);
  const auto all = measure_sampled(inside, outside, OutlierSampling::kAll, 10, 0);
  EXPECT_EQ(all.repeats, 1);
  EXPECT_EQ(all.outside, 9000u);
  EXPECT_EQ(all.mean.auroc, measure_outliers(inside, outside).auroc);
  EXPECT_EQ(all.deviation.auroc, 0);

  const auto reference = measure_sampled(inside, outside, OutlierSampling::kReference, 10, 0);
  EXPECT_EQ(reference.inside, 10000u);
  EXPECT_EQ(reference.outside, 1920u);  // 15 batches of 128
  EXPECT_EQ(reference.repeats, 10);
  EXPECT_GT(reference.deviation.auroc, 0);
  EXPECT_NEAR(reference.mean.auroc, all.mean.auroc, 0.005);

  const auto balanced = measure_sampled(inside, outside, OutlierSampling::kBalanced, 10, 0);
  EXPECT_EQ(balanced.inside, 9000u);
  EXPECT_EQ(balanced.outside, 9000u);
  // Fewer outliers among many others: precision of the others rises. AUROC does not care.
  EXPECT_GT(reference.mean.aupr_in, balanced.mean.aupr_in + 0.05);
  EXPECT_NEAR(balanced.mean.auroc, all.mean.auroc, 0.005);
}

TEST(SampledMeasures, AreTheSameForTheSameSeedAndDifferForAnother) {
  const auto inside = normals(700, 0, 1), outside = normals(600, 1, 2);
  const auto once = measure_sampled(inside, outside, OutlierSampling::kReference, 3, 7);
  EXPECT_EQ(once.mean.auroc,
            measure_sampled(inside, outside, OutlierSampling::kReference, 3, 7).mean.auroc);
  EXPECT_NE(once.mean.auroc,
            measure_sampled(inside, outside, OutlierSampling::kReference, 3, 8).mean.auroc);
  EXPECT_THROW(measure_sampled(normals(600, 0, 1), outside, OutlierSampling::kReference, 3, 7),
               DataError);
}

TEST(Threshold, KeepsTheShareAskedFor) {
  std::vector<double> scores(100);
  std::iota(scores.begin(), scores.end(), 1.0);
  EXPECT_EQ(threshold_keeping(scores, 0.95), 95);
  EXPECT_EQ(threshold_keeping(scores, 0.951), 96);
  EXPECT_EQ(threshold_keeping(scores, 1), 100);
  EXPECT_EQ(threshold_keeping({3.0}, 0.95), 3);
  EXPECT_EQ(threshold_keeping(std::vector<double>(5, 2.0), 0.5), 2);
}

}  // namespace
}  // namespace protogcd
