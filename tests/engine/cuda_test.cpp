// What CUDA does with kernels of its own, against the same on the CPU. Without a GPU these are
// skipped.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/engine/borrowed_views.h"
#include "protogcd/engine/captured_work.h"
#include "protogcd/engine/image_windows.h"
#include "protogcd/engine/pooled_tokens.h"
#include "protogcd/engine/tail.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/cuda.h"

namespace protogcd {
namespace {

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override { PROTOGCD_NEEDS_CUDA(); }
  const at::Device gpu_{at::kCUDA, 0};
};

using CudaPooledTokens = Cuda;
using CudaBorrowing = Cuda;
using CudaTail = Cuda;
using CudaWindows = Cuda;
using CudaCapture = Cuda;

double deviation(const at::Tensor& actual, const at::Tensor& expected) {
  return ((actual.cpu().to(at::kDouble) - expected).abs().max() /
          expected.abs().max().clamp_min(1e-3))
      .item<double>();
}

TEST_F(CudaPooledTokens, AreTheExactOnesUpToRounding) {
  at::manual_seed(1);
  struct Shape {
    std::int64_t batch, heads, tokens, width;
  };
  for (const Shape& s : {Shape{5, 12, 197, 768},
                         {3, 6, 197, 384},
                         {4, 3, 65, 192},
                         {2, 1, 1, 64},
                         {2, 16, 50, 1024},
                         {2, 5, 16, 128},
                         {2, 4, 785, 256}}) {
    SCOPED_TRACE(std::to_string(s.heads) + " heads, " + std::to_string(s.tokens) + " tokens");
    const at::Tensor bank = at::randn({3 * s.batch, s.tokens, s.width}).to(at::kBFloat16);
    const at::Tensor rows = at::randperm(3 * s.batch).narrow(0, 0, s.batch).contiguous();
    const at::Tensor first = at::randn({s.batch, s.width}).to(at::kBFloat16);
    // Numbers that bfloat16 holds: what is left is the rounding of the weights.
    const at::Tensor values = (at::randn({s.heads, s.batch, s.width}) / std::sqrt(s.width))
                                  .to(at::kBFloat16)
                                  .to(at::kFloat);
    const at::Tensor pull = at::randn({s.heads, s.batch, s.width}).to(at::kBFloat16).to(at::kFloat);
    const auto run = [&](at::Tensor queries, const auto& pooled) {
      queries = queries.clone().requires_grad_(true);
      const at::Tensor out = pooled(queries.transpose(0, 1));  // as the tail has them
      (out * pull.to(queries.options()).transpose(0, 1)).sum().backward();
      return std::pair{out.detach(), queries.grad()};
    };
    for (const bool with_first : {false, true}) {
      at::Tensor exact_tokens = bank.index_select(0, rows).to(at::kDouble);
      if (with_first) exact_tokens.select(1, 0).copy_(first);
      const auto [exact, exact_gradient] = run(values.to(at::kDouble), [&](const at::Tensor& q) {
        return pooled_tokens_plainly(q, exact_tokens);
      });
      const PooledRows on_gpu{bank.to(gpu_), rows.to(gpu_),
                              with_first ? first.to(gpu_) : at::Tensor()};
      const auto [out, gradient] =
          run(values.to(gpu_), [&](const at::Tensor& q) { return pooled_tokens(q, on_gpu); });
      EXPECT_LT(deviation(out, exact), 5e-3);
      EXPECT_LT(deviation(gradient, exact_gradient), 1e-2);
      const auto [again, gradient_again] =
          run(values.to(gpu_), [&](const at::Tensor& q) { return pooled_tokens(q, on_gpu); });
      EXPECT_TRUE(at::equal(again, out) && at::equal(gradient_again, gradient));
    }
  }
}

TEST_F(CudaBorrowing, GivesTheCpusNumbers) {
  at::manual_seed(2);
  for (const std::int64_t width : {64, 200, 2048}) {
    const TrunkTokens before{at::randn({8, 5, width}).to(at::kBFloat16), at::randn({8, width}), {}};
    const at::Tensor other = at::tensor({2, 0, 1, 3, 3, 2, 0, 1}, at::kLong),
                     factor = at::randn({8});
    TrunkTokens here{before.normalised.clone(), before.class_token.clone(), {}};
    TrunkTokens there{before.normalised.to(gpu_), before.class_token.to(gpu_), {}};
    borrow_differences(here, other, factor, 1e-6);
    borrow_differences(there, other.to(gpu_), factor.to(gpu_), 1e-6);
    EXPECT_TRUE(at::allclose(there.class_token.cpu(), here.class_token, 1e-5, 1e-6));
    EXPECT_TRUE(at::allclose(there.first.cpu().to(at::kFloat),
                             here.normalised.select(1, 0).to(at::kFloat), 1e-2, 1e-3));
    EXPECT_TRUE(at::equal(there.normalised.cpu(), before.normalised)) << "the bank stays as it is";
  }
}

TEST_F(CudaTail, TakesRowsOfABankWhereTheyLie) {
  const VitConfig config{
      .patch = 8, .width = 128, .depth = 2, .heads = 2, .hidden = 256, .grid = 4};
  const Vit vit(config, random_vit_state(config), at::kFloat);
  const Tail tail(vit, at::kFloat, gpu_);
  at::manual_seed(3);
  const at::Tensor bank = at::randn({9, 17, 128}, gpu_).to(at::kBFloat16),
                   class_tokens = at::randn({4, 128}, gpu_),
                   rows = at::tensor({7, 0, 3, 3}, at::kLong).to(gpu_);
  const at::Tensor from_bank = tail.forward({bank, class_tokens, {}, rows});
  const at::Tensor copied = tail.forward({bank.index_select(0, rows), class_tokens, {}});
  EXPECT_TRUE(at::equal(from_bank, copied));
}

TEST_F(CudaWindows, AreTheNumbersOfTheNormalizer) {
  ImageCache cache(4, 1 << 30);
  RandomStream stream({.seed = 4});
  const std::vector<std::uint32_t> list = {2, 0, 3};
  const std::vector<ImageSize> sizes = {{48, 40}, {40, 40}, {40, 61}};
  std::vector<Image> images;
  for (std::size_t i = 0; i < list.size(); ++i) {
    images.emplace_back(sizes[i].width, sizes[i].height);
    for (std::uint8_t& value : images[i].pixels)
      value = static_cast<std::uint8_t>(stream.below(256));
    cache.offer(list[i], images[i]);
  }
  std::vector<WindowRequest> requests;
  for (std::uint64_t i = 0; i < 24; ++i)
    requests.push_back({i % 3, {.seed = 9, .purpose = RandomPurpose::kAugment, .position = i}});
  constexpr int kCrop = 32;
  const Normalization normalization;
  const Normalizer normalizer(normalization);
  at::Tensor expected = at::empty({24, 3, kCrop, kCrop});
  bool any_flip = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    RandomStream draw(requests[i].draw);
    const Image& image = images[requests[i].image];
    const RandomView view = draw_random_view(image.size(), kCrop, draw);
    any_flip = any_flip || view.flip;
    constexpr std::size_t kSize = 3 * kCrop * kCrop;
    normalizer.apply(image, view.box, view.flip, {expected.data_ptr<float>() + i * kSize, kSize});
  }
  EXPECT_TRUE(any_flip);
  for (const WindowRoom& room : {WindowRoom{.on_gpu = 1 << 30}, WindowRoom{.on_host = 1 << 30}}) {
    const auto exact =
        ImageWindows::make(cache, list, kCrop, normalization, at::kFloat, gpu_, room);
    ASSERT_NE(exact, nullptr);
    EXPECT_EQ(exact->is_on_gpu(), room.on_gpu > 0);
    EXPECT_TRUE(at::equal(exact->cut(exact->places_of(requests)).cpu(), expected));
    const auto rounded =
        ImageWindows::make(cache, list, kCrop, normalization, at::kBFloat16, gpu_, room);
    EXPECT_TRUE(
        at::equal(rounded->cut(rounded->places_of(requests)).cpu(), expected.to(at::kBFloat16)));
  }
  const std::vector<std::uint32_t> absent = {2, 1};
  EXPECT_EQ(ImageWindows::make(cache, absent, kCrop, normalization, at::kFloat, gpu_,
                               {.on_gpu = 1 << 30}),
            nullptr);
  EXPECT_EQ(ImageWindows::make(cache, list, kCrop, normalization, at::kFloat, gpu_, {}), nullptr)
      << "no room";
}

TEST_F(CudaCapture, RepeatsTheWorkWithoutAskingForIt) {
  CapturedWork work(gpu_);
  at::Tensor x = at::zeros({4}, gpu_), sum = at::zeros({4}, gpu_);
  int calls = 0;
  for (int i = 1; i <= 10; ++i) {
    x.fill_(i);
    work.run([&] {
      ++calls;
      sum.add_(at::square(x));
    });
  }
  EXPECT_EQ(sum.cpu()[0].item<float>(), 385);
  EXPECT_EQ(calls, 4) << "some plain calls, and the one that was recorded";
}

TEST(CapturedWork, OnACpuIsDoneEveryTime) {
  CapturedWork work(at::kCPU);
  int calls = 0;
  for (int i = 0; i < 6; ++i) work.run([&] { ++calls; });
  EXPECT_EQ(calls, 6);
}

}  // namespace
}  // namespace protogcd
