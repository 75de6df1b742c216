// Public. How a host asks work to stop.
#pragma once

#include <atomic>
#include <memory>

namespace protogcd {

/// A flag that copies share: the host sets it, long work looks at it between two steps, saves what
/// it has and throws InterruptedError. Unlike std::stop_source, asking is a single lock-free store,
/// so that a signal handler may do it.
class StopToken {
 public:
  void request_stop() const noexcept { flag_->store(true); }
  /// Cheap, from any thread.
  bool stop_requested() const noexcept { return flag_->load(std::memory_order_relaxed); }

 private:
  static_assert(std::atomic<bool>::is_always_lock_free);
  std::shared_ptr<std::atomic<bool>> flag_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace protogcd
