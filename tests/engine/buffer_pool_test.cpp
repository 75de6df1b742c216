// Memory of tensors is reused, and never shared by two tensors in use.
#include "protogcd/engine/buffer_pool.h"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <optional>

#include "protogcd/engine/cpu_attention.h"
#include "protogcd/engine/tail.h"
#include "protogcd/nn/random_state.h"

namespace {
std::atomic<int> system_allocations = 0;
/// oneDNN describes each operation in small objects; every tensor of these tests is larger.
constexpr std::size_t kSmallestTensor = 16384;
}  // namespace

/// libtorch and oneDNN take their memory from this function; the program's own comes before libc's.
extern "C" int posix_memalign(void** memory, std::size_t alignment, std::size_t size) noexcept {
  if (size >= kSmallestTensor) ++system_allocations;
  *memory = ::memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

namespace protogcd {
namespace {

template <class Function>
int allocations_of(const Function& function) {
  const int before = system_allocations;
  function();
  return system_allocations - before;
}

TEST(BufferPool, TestCountsAllocationsOfTensors) {
  EXPECT_EQ(allocations_of([] { at::empty({10000}); }), 1);
}

TEST(BufferPool, ReusesMemoryOfTensorsThatHaveEnded) {
  const BufferPool pool;
  const auto use = [&] {
    const BufferPool::Scope scope(pool);
    const at::Tensor a = at::empty({10000}), b = at::empty({10000}), c = at::empty({5000});
    EXPECT_NE(a.data_ptr(), b.data_ptr());
  };
  EXPECT_EQ(allocations_of(use), 3);
  EXPECT_EQ(allocations_of(use), 0);
  EXPECT_EQ(allocations_of([] { at::empty({10000}); }), 1) << "outside of a scope";
}

TEST(BufferPool, DoesNotWasteALargeBufferOnASmallTensor) {
  const BufferPool pool;
  const BufferPool::Scope scope(pool);
  at::empty({1 << 20});
  EXPECT_EQ(allocations_of([] { at::empty({5000}); }), 1);
  EXPECT_EQ(allocations_of([] { at::empty({(1 << 20) - 100}); }), 0);
}

TEST(BufferPool, TensorsOutliveThePool) {
  at::Tensor kept;
  {
    const BufferPool pool;
    const BufferPool::Scope scope(pool);
    kept = at::ones({10000});
  }
  EXPECT_EQ(kept.sum().item<float>(), 10000);
}

TEST(BufferPool, LibtorchHasItsAllocatorBackAfterTheLastPool) {
  c10::Allocator* const before = c10::GetCPUAllocator();
  at::Tensor survivor;
  {
    const BufferPool first;
    {
      const BufferPool second;
      const BufferPool::Scope scope(second);
      survivor = at::ones({10000});
    }
    EXPECT_NE(c10::GetCPUAllocator(), before);
  }
  EXPECT_NE(c10::GetCPUAllocator(), before) << "one of its buffers is in use";
  EXPECT_EQ(survivor.sum().item<float>(), 10000);
  survivor.reset();
  EXPECT_EQ(c10::GetCPUAllocator(), before);
  const BufferPool again;
  EXPECT_NE(c10::GetCPUAllocator(), before);
}

TEST(BufferPool, AnAllocatorThatAHostInstallsMeanwhileStays) {
  struct Host final : c10::Allocator {
    c10::Allocator* next = c10::GetCPUAllocator();
    c10::DataPtr allocate(std::size_t size) override { return next->allocate(size); }
    c10::DeleterFnPtr raw_deleter() const override { return next->raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t count) const override {
      default_copy_data(to, from, count);
    }
  };
  c10::Allocator* const before = c10::GetCPUAllocator();
  {
    std::optional<BufferPool> pool(std::in_place);
    static Host host;
    c10::SetCPUAllocator(&host);
    pool.reset();
    EXPECT_EQ(c10::GetCPUAllocator(), &host);
    EXPECT_EQ(at::ones({10000}).sum().item<float>(), 10000);
  }
  c10::SetCPUAllocator(before);
  EXPECT_EQ(c10::GetCPUAllocator(), before);
}

TEST(BufferPool, TrunkAllocatesNothingAfterTheFirstRun) {
  if (!has_attention_kernel(at::zeros({1, 1, 192}, at::kBFloat16), 1))
    GTEST_SKIP() << "libtorch's own attention takes scratch memory on this CPU";
  for (const VitConfig& config :
       {VitConfig{.patch = 8, .width = 128, .depth = 3, .heads = 2, .hidden = 96, .grid = 3},
        VitConfig{.patch = 8,
        .width = 64,
        .depth = 3,
        .heads = 2,
        .hidden = 80,
        .grid = 3,
        .registers = 2,
        .layer_scale = true,
        .gated_mlp = true,
        .position_on_class = false}}) {
    const Vit vit(config, random_vit_state(config), at::kFloat);
    const at::Tensor images = at::randn({16, 3, 24, 24});
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      const Trunk trunk(vit, type, at::kCPU);
      const TrunkTokens first = trunk.run(images);
      trunk.run(images);  // `first` is still in use
      EXPECT_EQ(allocations_of([&] { trunk.run(images); }), 0) << at::toString(type);
      EXPECT_TRUE(at::equal(trunk.run(images).normalised, first.normalised));
    }
  }
}

}  // namespace
}  // namespace protogcd
