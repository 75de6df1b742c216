// Our attention kernel against libtorch's in float64, on random shapes.
#include "protogcd/engine/cpu_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <random>

namespace protogcd {
namespace {

double largest_difference(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return (actual.to(at::kDouble) - expected).abs().max().item<double>();
}

/// Rounding of the result to bfloat16, and of the weights of the mean.
constexpr double kTolerance = 0.02;

TEST(CpuAttention, KernelEqualsLibtorchOnRandomShapes) {
  if (!has_attention_kernel(at::zeros({1, 1, 192}, at::kBFloat16), 1))
    GTEST_SKIP() << "no AVX512-BF16";
  std::mt19937 random(7);
  const auto from_to = [&](int low, int high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int i = 0; i < 40; ++i) {
    const std::int64_t batch = from_to(1, 4), tokens = i < 20 ? i + 1 : from_to(1, 300),
                       heads = from_to(1, 7);
    SCOPED_TRACE(tokens);
    const at::Tensor qkv = at::randn({batch, tokens, 3 * heads * 64}).to(at::kBFloat16);
    EXPECT_LT(
        largest_difference(attend_by_kernel(qkv, heads), attend_plain(qkv.to(at::kDouble), heads)),
        kTolerance);
  }
}

TEST(CpuAttention, KernelBearsScoresFarApart) {
  const at::Tensor some = at::randn({2, 50, 192}).to(at::kBFloat16);
  if (!has_attention_kernel(some, 1)) GTEST_SKIP() << "no AVX512-BF16";
  for (const double scale : {0.0, 1e-4, 30.0, 1e6}) {
    at::Tensor qkv = some.clone();
    qkv.slice(2, 0, 128).mul_(scale);  // queries and keys; values stay near 1
    const at::Tensor output = attend_by_kernel(qkv, 1);
    EXPECT_TRUE(at::isfinite(output).all().item<bool>()) << scale;
    EXPECT_LT(largest_difference(output, attend_plain(qkv.to(at::kDouble), 1)), kTolerance)
        << scale;
  }
}

TEST(CpuAttention, ResultDoesNotDependOnThreads) {
  const at::Tensor qkv = at::randn({3, 37, 3 * 5 * 64}).to(at::kBFloat16);
  const at::Tensor several = attend(qkv, 5);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  EXPECT_TRUE(at::equal(attend(qkv, 5), several));
  at::set_num_threads(threads);
}

TEST(CpuAttention, OtherWidthsAndTypesAreLeftToLibtorch) {
  EXPECT_FALSE(has_attention_kernel(at::zeros({1, 5, 3 * 2 * 32}, at::kBFloat16), 2));
  EXPECT_FALSE(has_attention_kernel(at::zeros({1, 5, 3 * 2 * 64}), 2));
  const at::Tensor qkv = at::randn({2, 5, 3 * 2 * 32}).to(at::kDouble);
  EXPECT_TRUE(at::equal(attend(qkv, 2), attend_plain(qkv, 2)));
}

}  // namespace
}  // namespace protogcd
