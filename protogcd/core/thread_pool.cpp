#include "protogcd/core/thread_pool.h"

#include <fmt/core.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <system_error>
#include <utility>

#include "protogcd/core/error.h"

namespace protogcd {

ThreadPool::ThreadPool(std::size_t threads, std::size_t queue_limit)
    : queue_limit_(queue_limit == 0 ? 4 * threads : queue_limit) {
  if (threads == 0) throw InternalError("ThreadPool: at least one thread is needed");
  threads_.reserve(threads);
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    const std::size_t started = threads_.size();
    close();
    throw DeviceError(
        fmt::format("cannot start {} threads, only {}: {}", threads, started, error.what()),
        fmt::format("lower {}", option_name("threads")));
  }
}

ThreadPool::~ThreadPool() {
  close();
}

void ThreadPool::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  task_added_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

void ThreadPool::submit(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  task_taken_.wait(lock, [this] { return queue_.size() < queue_limit_; });
  queue_.push_back(std::move(task));
  ++unfinished_;
  task_added_.notify_one();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return unfinished_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::for_each(std::size_t count, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next{0};
  const std::size_t workers = std::min(count, threads_.size());
  for (std::size_t i = 0; i < workers; ++i) {
    submit([&] {
      try {
        for (std::size_t index; (index = next++) < count;) body(index);
      } catch (...) {
        next = count;  // the other workers stop at their next index
        throw;
      }
    });
  }
  wait();
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    task_added_.wait(lock, [this] { return !queue_.empty() || closing_; });
    if (queue_.empty()) return;
    auto task = std::move(queue_.front());
    queue_.pop_front();
    task_taken_.notify_one();
    if (!error_) {
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      task = nullptr;  // what it captured is released outside the lock
      lock.lock();
      if (error && !error_) error_ = error;
    }
    if (--unfinished_ == 0) all_done_.notify_all();
  }
}

std::size_t available_threads() {
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
    return std::max(1, CPU_COUNT(&mask));
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string identity_of_cores() {
  std::array<char, 256> machine{};
  ::gethostname(machine.data(), machine.size() - 1);
  std::string name = machine.data();
  cpu_set_t mask;
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &mask)) name += fmt::format(" {}", core);
  return name;
}

}  // namespace protogcd
