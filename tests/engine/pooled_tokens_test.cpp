// The one place where the tail touches every token, against ordinary operations.
#include "protogcd/engine/pooled_tokens.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace protogcd {
namespace {

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  return ((actual - expected).abs().max() / expected.abs().max().clamp_min(1e-6)).item<double>();
}

struct Shape {
  std::int64_t batch, heads, tokens, width;
};

/// Value and gradient, of products rounded to bfloat16 and of exact ones.
void expect_near(const Shape& shape) {
  SCOPED_TRACE(std::to_string(shape.heads) + " heads, " + std::to_string(shape.tokens) +
               " tokens, width " + std::to_string(shape.width));
  const at::Tensor tokens = at::randn({shape.batch, shape.tokens, shape.width}).to(at::kBFloat16);
  const at::Tensor values = at::randn({shape.batch, shape.heads, shape.width}) /
                            std::sqrt(static_cast<double>(shape.width));
  const at::Tensor pull = at::randn(values.sizes());
  const auto run = [&](const auto& function, at::ScalarType type, const at::Tensor& over) {
    at::Tensor queries = values.to(type, /*non_blocking=*/false, /*copy=*/true);
    queries.requires_grad_(true);
    const at::Tensor out = function(queries, over);
    EXPECT_EQ(out.scalar_type(), type);
    (out * pull.to(type)).sum().backward();
    return std::pair{out.detach().to(at::kDouble), queries.grad().to(at::kDouble)};
  };
  const auto [out, gradient] =
      run([](const at::Tensor& queries,
             const at::Tensor& over) { return pooled_tokens(queries, {over}); },
          at::kFloat, tokens);
  const auto [exact, exact_gradient] =
      run(pooled_tokens_plainly, at::kDouble, tokens.to(at::kDouble));
  EXPECT_LT(deviation(out, exact), 0.01);
  EXPECT_LT(deviation(gradient, exact_gradient), 0.02);
}

TEST(PooledTokens, AreTheOrdinaryOperationsOnes) {
  at::manual_seed(1);
  for (const Shape& shape : {Shape{3, 6, 197, 384},
                             {2, 12, 197, 768},
                             {2, 3, 17, 192},
                             {1, 1, 1, 32},
                             {2, 1, 2, 64},
                             {5, 16, 50, 1024},
                             {2, 5, 7, 96},
                             {2, 4, 8, 160},
                             {3, 2, 65, 48}}) {
    expect_near(shape);
  }
}

TEST(PooledTokens, LargeScoresDoNotOverflow) {
  const at::Tensor tokens = at::randn({2, 9, 64}).to(at::kBFloat16);
  const at::Tensor out = pooled_tokens(at::randn({2, 3, 64}) * 1000, {tokens});
  EXPECT_TRUE(out.isfinite().all().item<bool>());
}

TEST(PooledTokens, Float64IsExact) {
  const at::Tensor tokens = at::randn({2, 9, 64}, at::kDouble);
  const at::Tensor queries = at::randn({2, 3, 64}, at::kDouble);
  EXPECT_TRUE(at::equal(pooled_tokens(queries, {tokens}), pooled_tokens_plainly(queries, tokens)));
}

}  // namespace
}  // namespace protogcd
