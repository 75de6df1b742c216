// What a step promises beside its numbers: no memory after warm-up, and parameters that everyone
// sees.
#include "protogcd/training/train_step.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>

#include "protogcd/methods/protogcd/protogcd.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/no_sets.h"

namespace {
std::atomic<int> system_allocations = 0;
constexpr std::size_t kSmallestTensor = 16384;  // smaller ones come from malloc's own lists anyway
}  // namespace

/// libtorch takes the memory of tensors from this function; the program's own comes before libc's.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (size >= kSmallestTensor) ++system_allocations;
  *memory = ::memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

namespace protogcd {
namespace {

constexpr std::int64_t kImages = 16, kClasses = 9;
const VitConfig kTiny{.patch = 8, .width = 64, .depth = 2, .heads = 2, .hidden = 128, .grid = 4};

struct Setting {
  Setting()
      : vit(kTiny, random_vit_state(kTiny), at::kFloat),
        trunk(vit, at::kFloat, at::kCPU),
        blocks(make_trained_blocks(vit, 1, at::kFloat, at::kCPU)),
        method(make_method()),
        step(*blocks, *method, {}, alone) {
    at::manual_seed(3);
    batches = {{.labels = at::arange(kImages, at::kLong).remainder(5),
                .labelled = at::arange(kImages, at::kLong).remainder(2).to(at::kFloat),
                .tokens = trunk.run(at::randn({2 * kImages, 3, 32, 32}))}};
    testing::NoSets none;
    method->begin_epoch({.epoch = 25, .images_per_step = kImages, .sets = none});
  }

  static std::unique_ptr<Method> make_method() {
    ProtoGcdOptions options;
    options.head.hidden = 128;
    options.head.projection = 64;
    return options.make({.width = 64,
                         .classes = std::vector<std::string>(kClasses),
                         .old_classes = 5,
                         .epochs = 200});
  }

  StepLoss run() { return step.run(batches, at::scalar_tensor(0.1, at::kFloat)); }

  Vit vit;
  Trunk trunk;
  std::unique_ptr<TrainedBlocks> blocks;
  std::unique_ptr<Method> method;
  SingleProcess alone;
  TrainStep step;
  std::vector<StepBatch> batches;
};

TEST(TrainStep, TakesNoMemoryForTensorsAfterItsFirstSteps) {
  Setting setting;
  for (int i = 0; i < 3; ++i) setting.run();
  const int before = system_allocations;
  for (int i = 0; i < 5; ++i) setting.run();
  EXPECT_EQ(system_allocations - before, 0);
  EXPECT_GT(before, 10) << "the counter counts nothing";
}

TEST(TrainStep, LowersTheLossAndChangesTheTensorsInUse) {
  Setting setting;
  const at::Tensor prototypes = setting.method->parameters().at("prototype_layer.weight_v");
  const at::Tensor before = prototypes.detach().clone();
  const double first = setting.run().total.item<double>();
  double last = first;
  for (int i = 0; i < 30; ++i) last = setting.run().total.item<double>();
  EXPECT_LT(last, first - 0.5);
  EXPECT_FALSE(prototypes.equal(before));
  EXPECT_EQ(prototypes.data_ptr(),
            setting.step.parameters().named().at("1.prototype_layer.weight_v").data_ptr());
}

}  // namespace
}  // namespace protogcd
