// Confidence and how often it is right, on numbers made by hand.
#include "protogcd/analysis/calibration.h"

#include <gmock/gmock.h>

#include <cmath>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

TEST(Calibration, ErrorIsTheGapBetweenConfidenceAndSuccess) {
  const std::vector<float> sure = {0.9f, 0.9f, 0.9f, 0.9f};
  EXPECT_NEAR(calibration_error(sure, {true, true, false, false}), 0.4, 1e-6);
  // Bins do not make up for each other.
  const std::vector<float> mixed = {1.0f, 1.0f, 0.5f, 0.5f};
  EXPECT_NEAR(calibration_error(mixed, {true, false, true, true}), 0.5, 1e-6);
  const std::vector<double> weights = {3, 1};
  EXPECT_NEAR(calibration_error(std::vector<float>{0.8f, 0.8f}, {true, false}, weights), 0.05,
              1e-6);
  EXPECT_EQ(calibration_error({}, {}), 0);
}

TEST(Calibration, TopPosteriorsAreThoseOfSoftmax) {
  const std::vector<float> scores = {0.3f, 0.1f, 0.2f, 0.2f};
  const auto tops = top_posteriors(scores, 2, 0.1);
  ASSERT_EQ(tops.size(), 2u);
  EXPECT_NEAR(tops[0], std::exp(3.0) / (std::exp(3.0) + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(tops[1], 0.5, 1e-6);
}

/// Predictions that are right as often as their posterior at this temperature says.
struct Bets {
  explicit Bets(double temperature, int count = 20000) {
    RandomStream random({.seed = 3});
    for (int i = 0; i < count; ++i) {
      const std::vector<float> row = {static_cast<float>(0.4 * random.uniform()), 0.0f, 0.0f};
      scores.insert(scores.end(), row.begin(), row.end());
      right.push_back(random.chance(top_posteriors(row, 3, temperature)[0]));
      weights.push_back(1);
    }
  }
  double fitted() const { return fit_temperature(scores, 3, right, weights, 0.01, 1); }

  std::vector<float> scores;
  std::vector<bool> right;
  std::vector<double> weights;
};

TEST(Calibration, TheTemperatureOfHonestBetsIsFound) {
  for (const double temperature : {0.05, 0.1, 0.3})
    EXPECT_NEAR(Bets(temperature).fitted() / temperature, 1, 0.05) << temperature;
}

TEST(Calibration, WeightsCountAsImagesDo) {
  Bets bets(0.1, 400), doubled = bets;
  for (std::size_t i = 0; i < bets.right.size(); i += 2) {
    bets.weights[i] = 2;
    doubled.scores.insert(doubled.scores.end(), &bets.scores[3 * i], &bets.scores[3 * i] + 3);
    doubled.right.push_back(bets.right[i]);
    doubled.weights.push_back(1);
  }
  // Not quite: Platt's targets know the number of images.
  EXPECT_NEAR(bets.fitted(), doubled.fitted(), 0.002);
}

TEST(Calibration, FewImagesThatAreAllRightClaimNoCertainty) {
  const std::vector<float> scores = {0.2f, 0.0f, 0.2f, 0.0f, 0.2f, 0.0f};
  const double temperature =
      fit_temperature(scores, 2, {true, true, true}, std::vector<double>{1, 1, 1}, 0.01, 1);
  EXPECT_NEAR(top_posteriors(scores, 2, temperature)[0], 0.8, 0.01);  // (3 + 1) / (3 + 2)
}

}  // namespace
}  // namespace protogcd
