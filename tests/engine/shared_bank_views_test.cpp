// A bank in parts, one a process, hands out what the whole bank does.
#include "protogcd/engine/shared_bank_views.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/support/team.h"

namespace protogcd {
namespace {

using testing::Team;

constexpr std::int64_t kImages = 70, kViews = 5, kTokens = 3, kWidth = 4, kBlock = 16;
constexpr std::size_t kBatch = 12, kSteps = 4;

/// A bank whose every number says where it belongs: image, slot and place.
std::unique_ptr<BankStore> bank_of(const BankPart& part, bool with_class_token) {
  const auto images = static_cast<std::int64_t>(part.size());
  auto bank = make_memory_bank({.views = kViews,
                                .images = images,
                                .tokens = kTokens,
                                .width = kWidth,
                                .type = at::kBFloat16,
                                .with_class_token = with_class_token,
                                .block = kBlock},
                               at::kCPU);
  for (std::int64_t slot = 0; slot < kViews; ++slot) {
    const at::Tensor image =
        at::arange(static_cast<std::int64_t>(part.first), static_cast<std::int64_t>(part.end));
    bank->tokens(slot).copy_((image * kViews + slot).view({-1, 1, 1}) % 251 +
                             at::arange(kTokens * kWidth).view({kTokens, kWidth}) / 16.0);
    if (with_class_token) bank->class_tokens(slot).copy_((image * kViews + slot).view({-1, 1}));
  }
  return bank;
}

struct Step {
  at::Tensor tokens, class_tokens;
};

std::vector<Step> steps_of(ViewSource& views) {
  std::vector<Step> steps;
  views.start_epoch(2, 1);
  for (std::size_t i = 1; i < kSteps; ++i) {
    const TrunkTokens tokens = views.next();
    steps.push_back({(tokens.normalised.defined() ? tokens.normalised : tokens.raw).clone(),
                     tokens.class_token.defined() ? tokens.class_token.clone() : at::Tensor()});
  }
  return steps;
}

Sampler sampler_of(std::size_t rank, std::size_t size) {
  std::vector<std::uint32_t> all(kImages);
  for (std::uint32_t i = 0; i < kImages; ++i) all[i] = i;
  Sampler sampler(20, all, 9, kBatch, kSteps);
  sampler.share(rank, size);
  return sampler;
}

TEST(BankPart, PartsAreBlocksAndTogetherTheBank) {
  std::size_t end = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const BankPart part = BankPart::of(rank, 3, kImages, kBlock);
    EXPECT_EQ(part.first, end);
    EXPECT_EQ(part.first % kBlock, 0u);
    end = part.end;
  }
  EXPECT_EQ(end, static_cast<std::size_t>(kImages));
}

TEST(SharedBankViews, AreTheRowsOfTheWholeBank) {
  for (const bool with_class_token : {true, false}) {
    for (const std::size_t views : {1u, 2u}) {
      const auto whole = bank_of({0, kImages}, with_class_token);
      const Sampler alone = sampler_of(0, 1);
      BankViews plain([&](std::uint32_t) -> const BankStore& { return *whole; }, alone, 7, at::kCPU,
                      views);
      const auto expected = steps_of(plain);
      for (const std::size_t size : {2u, 3u}) {
        Team(static_cast<std::int64_t>(size)).run([&](Team::Member& member) {
          const auto rank = static_cast<std::size_t>(member.rank());
          const auto own = bank_of(BankPart::of(rank, size, kImages, kBlock), with_class_token);
          const Sampler sampler = sampler_of(rank, size);
          const std::shared_ptr<Communicator> team(&member, [](Communicator*) {});
          SharedBankViews shared([&](std::uint32_t) -> const BankStore& { return *own; }, kImages,
                                 kBlock, sampler, 7, at::kCPU, views, team);
          const auto found = steps_of(shared);
          const auto rows = static_cast<std::int64_t>(kBatch / size),
                     first = static_cast<std::int64_t>(rank) * rows;
          const auto mine = [&](const at::Tensor& of_all) {
            std::vector<at::Tensor> parts;
            for (const at::Tensor& view : of_all.chunk(static_cast<std::int64_t>(views)))
              parts.push_back(view.narrow(0, first, rows));
            return at::cat(parts);
          };
          for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_TRUE(at::equal(found[i].tokens, mine(expected[i].tokens)));
            if (!with_class_token) continue;
            EXPECT_TRUE(at::equal(found[i].class_tokens, mine(expected[i].class_tokens)));
          }
        });
      }
    }
  }
}

}  // namespace
}  // namespace protogcd
