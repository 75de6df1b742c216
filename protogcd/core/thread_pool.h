// A bounded thread pool. Submitting waits while the queue is full, and the first error of a task
// reaches the caller.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace protogcd {

class ThreadPool {
 public:
  /// `queue_limit` 0 means four tasks per thread. DeviceError if the system gives fewer threads.
  explicit ThreadPool(std::size_t threads, std::size_t queue_limit = 0);
  /// Waits for the tasks already submitted; an error nobody asked for with `wait` is dropped.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const { return threads_.size(); }

  /// Queues a task; waits while the queue is full. After a task has failed, later ones are not run.
  void submit(std::function<void()> task);
  /// Waits until nothing is queued or running, then throws the first error, if any, and forgets it.
  void wait();
  /// Calls body(i) for every i below count, in parallel; rethrows the first error.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  void work();
  void close();

  std::mutex mutex_;
  std::condition_variable task_added_, task_taken_, all_done_;
  std::deque<std::function<void()>> queue_;
  std::size_t queue_limit_;
  std::size_t unfinished_ = 0;
  std::exception_ptr error_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

/// The number of threads the machine (or the container's CPU mask) can run at once; at least 1.
std::size_t available_threads();

/// The machine and the cores that this process may run on.
std::string identity_of_cores();

}  // namespace protogcd
