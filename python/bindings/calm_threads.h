// Waiting threads that sleep soon, where torch was imported before us.
//
// Threads of libgomp spin for milliseconds while they wait; beside other work on the cores that
// halves the speed. How long is read from the environment when the runtime is loaded, which
// protogcd/_torch.py uses, but not where torch had loaded it already. Yet the runtime itself spins
// a few microseconds only as long as it manages more threads than there are cores.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace protogcd::python {

/// While it lives, a second team of threads sleeps, so that the runtime counts more threads than
/// cores; where the cores have nothing else to do when it begins, spinning is the faster way (by
/// 8%), and it does nothing.
class CalmThreads {
 public:
  CalmThreads();
  ~CalmThreads();
  CalmThreads(const CalmThreads&) = delete;
  CalmThreads& operator=(const CalmThreads&) = delete;

  /// Whether it is needed: set once, when the module is loaded.
  static bool needed;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false, over_ = false;
  std::thread sleeper_;
};

}  // namespace protogcd::python
