#include "protogcd/engine/buffer_pool.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
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

void add_user_of_allocator();
void remove_user_of_allocator();

}  // namespace

/// Lives as long as a pool or one of its buffers in use: so long libtorch must ask us.
struct BufferPool::State {
  explicit State(std::size_t most) : most_idle(most) {
    idle.reserve(most);
    add_user_of_allocator();
  }
  ~State() { remove_user_of_allocator(); }

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
///
/// It is libtorch's allocator while there is a pool or a buffer of one in use. What cannot be given
/// back: libtorch reads its pointer without a lock, so that a first pool should not begin, nor the
/// last one end, while another thread makes tensors of its own; and where a host had installed an
/// allocator with a priority, the highest one stays in force for those that are set later.
class PooledAllocator final : public c10::Allocator {
 public:
  /// Never destroyed: tensors may end after everything else.
  static PooledAllocator& instance() {
    static auto* const allocator = new PooledAllocator;
    return *allocator;
  }

  c10::DataPtr allocate(std::size_t size) override {
    if (current_pool == nullptr || size == 0) return next().allocate(size);
    std::unique_ptr<Buffer> buffer = current_pool->take(size);
    if (buffer == nullptr)
      buffer = std::make_unique<Buffer>(Buffer{next().allocate(size), size, nullptr});
    buffer->home = current_pool;
    void* const data = buffer->memory.get();
    const std::lock_guard lock(mutex_);
    in_use_.emplace(data, std::move(buffer));
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  void add_user() {
    const std::lock_guard lock(users_mutex_);
    if (users_++ > 0 || c10::GetCPUAllocator() == this) return;
    next_ = c10::GetCPUAllocator();
    make_current(this);
  }
  void remove_user() {
    const std::lock_guard lock(users_mutex_);
    // Another allocator may have been installed over this one, and pass memory on to it.
    if (--users_ == 0 && c10::GetCPUAllocator() == this) make_current(next_);
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  PooledAllocator() = default;
  c10::Allocator& next() const { return *next_.load(std::memory_order_relaxed); }

  /// libtorch ignores whom another surpasses in priority, which is 0 unless a host has chosen one.
  static void make_current(c10::Allocator* allocator) {
    c10::SetCPUAllocator(allocator, /*priority=*/0);
    if (c10::GetCPUAllocator() != allocator) c10::SetCPUAllocator(allocator, /*priority=*/255);
  }

  static void release(void* data) {
    PooledAllocator& allocator = instance();
    if (std::unique_ptr<Buffer> buffer = allocator.found(data)) {
      const auto home = std::move(buffer->home);
      home->give_back(std::move(buffer));
    } else {
      allocator.next().raw_deallocate(data);
    }
  }
  /// No longer in use; null for memory that is no pool's.
  std::unique_ptr<Buffer> found(void* data) {
    const std::lock_guard lock(mutex_);
    auto node = in_use_.extract(data);
    return node.empty() ? nullptr : std::move(node.mapped());
  }

  std::atomic<c10::Allocator*> next_ = nullptr;
  std::mutex users_mutex_;
  std::size_t users_ = 0;
  std::mutex mutex_;
  std::unordered_map<void*, std::unique_ptr<Buffer>> in_use_;
};

void add_user_of_allocator() {
  PooledAllocator::instance().add_user();
}

void remove_user_of_allocator() {
  PooledAllocator::instance().remove_user();
}

}  // namespace

BufferPool::BufferPool(std::size_t most_idle) : state_(std::make_shared<State>(most_idle)) {}

BufferPool::~BufferPool() = default;
BufferPool::BufferPool(BufferPool&&) noexcept = default;

BufferPool::Scope::Scope(const BufferPool& pool)
    : outer_(std::exchange(current_pool, pool.state_)) {}

BufferPool::Scope::~Scope() {
  current_pool = std::move(outer_);
}

}  // namespace protogcd
