// Memory of CPU tensors, kept from run to run: the frozen trunk makes tensors of the same sizes for
// every batch, and asking the system for them anew costs page faults.
//
//   BufferPool pool;
//   { const BufferPool::Scope scope(pool); ... tensors made here ... }
#pragma once

#include <cstddef>
#include <memory>

namespace protogcd {

/// On CUDA libtorch has such a pool of its own. Threads may share one.
class BufferPool {
 public:
  /// `most_idle`: buffers kept while nobody uses them; a run of the trunk uses about ten.
  explicit BufferPool(std::size_t most_idle = 32);
  ~BufferPool();  ///< tensors may outlive it
  BufferPool(BufferPool&&) noexcept;

  struct State;  ///< of buffer_pool.cpp

  /// While it lives, CPU tensors that this thread makes take their memory from the pool, and
  /// return it there whenever they end.
  class Scope {
   public:
    explicit Scope(const BufferPool& pool);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<State> outer_;
  };

 private:
  std::shared_ptr<State> state_;
};

}  // namespace protogcd
