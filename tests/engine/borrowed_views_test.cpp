// Borrowed differences: what a view takes from other images, and that it is the same every time.
#include "protogcd/engine/borrowed_views.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace protogcd {
namespace {

constexpr std::int64_t kBatch = 3, kTokens = 4, kWidth = 8;
constexpr double kEpsilon = 1e-6;

at::Tensor some_tokens(std::uint64_t seed) {
  at::Tensor tokens = at::empty({2 * kBatch, kTokens, kWidth}, at::kDouble);
  RandomStream stream({.seed = seed});
  for (std::int64_t i = 0; i < tokens.numel(); ++i)
    tokens.data_ptr<double>()[i] = stream.uniform(-2, 2);
  return tokens;
}

TrunkTokens last_block_tokens(std::uint64_t seed) {
  const at::Tensor raw = some_tokens(seed);
  return {at::layer_norm(raw, {kWidth}, {}, {}, kEpsilon), raw.select(1, 0).clone(), {}};
}

/// Row i of c + factor[i] (c1_j - c2_j), number by number.
at::Tensor borrowed_plainly(const at::Tensor& class_token, const std::vector<std::int64_t>& other,
                            const std::vector<double>& factor) {
  at::Tensor result = class_token.clone();
  const auto from = class_token.accessor<double, 2>();
  auto to = result.accessor<double, 2>();
  for (std::int64_t i = 0; i < 2 * kBatch; ++i) {
    const std::int64_t j = other[static_cast<std::size_t>(i)];
    for (std::int64_t d = 0; d < kWidth; ++d)
      to[i][d] += factor[static_cast<std::size_t>(i)] * (from[j][d] - from[kBatch + j][d]);
  }
  return result;
}

const std::vector<std::int64_t> kOther = {2, 0, 1, 1, 2, 0};
const std::vector<double> kFactor = {0.5, -1.25, 0, 2, -0.75, 1};

TEST(BorrowDifferences, AddsTheDifferenceOfAnotherImagesViewsToTheClassToken) {
  const TrunkTokens before = last_block_tokens(1);
  TrunkTokens after{before.normalised.clone(), before.class_token.clone(), {}};
  borrow_differences(after, at::tensor(kOther), at::tensor(kFactor, at::kDouble), kEpsilon);
  const at::Tensor expected = borrowed_plainly(before.class_token, kOther, kFactor);
  EXPECT_TRUE(at::allclose(after.class_token, expected, 0, 1e-12));
  EXPECT_TRUE(at::allclose(after.normalised.select(1, 0),
                           at::layer_norm(expected, {kWidth}, {}, {}, kEpsilon), 0, 1e-12))
      << "the normalised class token belongs to the new one";
  EXPECT_TRUE(at::equal(after.normalised.narrow(1, 1, kTokens - 1),
                        before.normalised.narrow(1, 1, kTokens - 1)))
      << "the other tokens stay";
}

TEST(BorrowDifferences, ChangesRawTokensAlike) {
  const at::Tensor before = some_tokens(2);
  TrunkTokens after{{}, {}, before.clone()};
  borrow_differences(after, at::tensor(kOther), at::tensor(kFactor, at::kDouble), kEpsilon);
  EXPECT_TRUE(at::allclose(after.raw.select(1, 0),
                           borrowed_plainly(before.select(1, 0), kOther, kFactor), 0, 1e-12));
  EXPECT_TRUE(at::equal(after.raw.narrow(1, 1, kTokens - 1), before.narrow(1, 1, kTokens - 1)));
}

/// Hands out tokens that depend on epoch and step alone.
class MadeUpViews : public ViewSource {
 public:
  void start_epoch(std::uint32_t epoch, std::size_t first_step) override {
    seed_ = 1000 * epoch + first_step;
  }
  void advance() override { ++seed_; }
  TrunkTokens tokens() override { return last_block_tokens(seed_); }

 private:
  std::uint64_t seed_ = 0;
};

BorrowedViews views_of(const Sampler& sampler, double strength = 2) {
  return BorrowedViews(std::make_unique<MadeUpViews>(), sampler, strength, kEpsilon, 7, at::kCPU);
}

TEST(BorrowedViews, DependOnSeedEpochAndStepAlone) {
  const Sampler sampler(4, 8, 7, kBatch);
  BorrowedViews whole = views_of(sampler), resumed = views_of(sampler);
  whole.start_epoch(5, 0);
  whole.next();
  resumed.start_epoch(5, 1);
  const at::Tensor expected = whole.next().class_token;
  EXPECT_TRUE(at::equal(resumed.next().class_token, expected));
  whole.start_epoch(6, 1);
  resumed.start_epoch(5, 1);
  MadeUpViews plain;
  plain.start_epoch(6, 1);
  const at::Tensor shift = whole.next().class_token - plain.next().class_token;
  plain.start_epoch(5, 1);
  EXPECT_FALSE(at::allclose(resumed.next().class_token - plain.next().class_token, shift))
      << "each epoch has draws of its own";
}

TEST(BorrowedViews, ShiftByAtMostTheStrengthTimesADifference) {
  const Sampler sampler(4, 8, 7, kBatch);
  const double strength = 0.5;
  BorrowedViews views = views_of(sampler, strength);
  MadeUpViews plain;
  double largest = 0;
  for (std::uint32_t epoch = 0; epoch < 20; ++epoch) {
    views.start_epoch(epoch, 0);
    plain.start_epoch(epoch, 0);
    for (std::size_t step = 0; step < sampler.batches_per_epoch(); ++step) {
      const at::Tensor before = plain.next().class_token;
      const at::Tensor shift = (views.next().class_token - before).abs().amax();
      const auto halves = before.chunk(2);
      largest = std::max(largest, (shift / (halves[0] - halves[1]).abs().amax()).item<double>());
    }
  }
  EXPECT_LE(largest, strength);
  EXPECT_GT(largest, 0.8 * strength);
}

}  // namespace
}  // namespace protogcd
