#include "protogcd/engine/buffer_pool.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace protogcd {
namespace {

struct Buffer {
  c10::DataPtr memory;
  std::size_t size = 0;
  std::shared_ptr<BufferPool::State> home;  ///< while in use
};

}  // namespace

struct BufferPool::State {
  explicit State(std::size_t most) : most_idle(most) { idle.reserve(most); }

  const std::size_t most_idle;
  std::mutex mutex;
  std::vector<std::unique_ptr<Buffer>> idle;

  /// The smallest idle buffer that holds `size` bytes and wastes less than half; null if none.
  std::unique_ptr<Buffer> take(std::size_t size) {
    const std::lock_guard lock(mutex);
    auto best = idle.end();
    for (auto it = idle.begin(); it != idle.end(); ++it) {
      const std::size_t candidate = (*it)->size;
      if (candidate < size || candidate / 2 > size) continue;
      if (best == idle.end() || candidate < (*best)->size) best = it;
    }
    if (best == idle.end()) return nullptr;
    std::swap(*best, idle.back());
    std::unique_ptr<Buffer> taken = std::move(idle.back());
    idle.pop_back();
    return taken;
  }

  void give_back(std::unique_ptr<Buffer> buffer) {
    const std::lock_guard lock(mutex);
    if (idle.size() < most_idle) idle.push_back(std::move(buffer));
  }
};

namespace {

thread_local std::shared_ptr<BufferPool::State> current_pool;

/// libtorch asks one allocator for the memory of all CPU tensors. This one passes everything on to
/// the one before it, except within a scope. oneDNN frees memory by its address alone, wherever it
/// is from, so that buffers in use are found by address.
class PooledAllocator final : public c10::Allocator {
 public:
  /// Never destroyed: tensors may end after everything else.
  static PooledAllocator& instance() {
    static auto* const allocator = new PooledAllocator;
    return *allocator;
  }

  c10::DataPtr allocate(std::size_t size) override {
    if (current_pool == nullptr || size == 0) return next_->allocate(size);
    std::unique_ptr<Buffer> buffer = current_pool->take(size);
    if (buffer == nullptr)
      buffer = std::make_unique<Buffer>(Buffer{next_->allocate(size), size, nullptr});
    buffer->home = current_pool;
    void* const data = buffer->memory.get();
    const std::lock_guard lock(mutex_);
    in_use_.emplace(data, std::move(buffer));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  PooledAllocator() : next_(c10::GetCPUAllocator()) {}

  static void release(void* data) {
    PooledAllocator& allocator = instance();
    if (std::unique_ptr<Buffer> buffer = allocator.found(data)) {
      const auto home = std::move(buffer->home);
      home->give_back(std::move(buffer));
    } else {
      allocator.next_->raw_deallocate(data);
    }
  }
  /// No longer in use; null for memory that is no pool's.
  std::unique_ptr<Buffer> found(void* data) {
    const std::lock_guard lock(mutex_);
    auto node = in_use_.extract(data);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  c10::Allocator* const next_;
  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<Buffer>> in_use_;
};

/// Once, and for good: libtorch keeps the pointer.
void install_allocator() {
  static const bool kInstalled = [] {
    c10::SetCPUAllocator(&PooledAllocator::instance(), /*priority=*/255);
    return true;
  }();
  static_cast<void>(kInstalled);
}

}  // namespace

BufferPool::BufferPool(std::size_t most_idle) : state_(std::make_shared<State>(most_idle)) {
  install_allocator();
}

BufferPool::~BufferPool() = default;
BufferPool::BufferPool(BufferPool&&) noexcept = default;

BufferPool::Scope::Scope(const BufferPool& pool)
    : outer_(std::exchange(current_pool, pool.state_)) {}

BufferPool::Scope::~Scope() {
  current_pool = std::move(outer_);
}

}  // namespace protogcd
