#include "calm_threads.h"

#include <fstream>

namespace protogcd::python {
namespace {

/// Whether the cores have other work at this moment: "0.20 0.18 0.12 3/801 123", of which 3 threads
/// run or would like to, this one among them.
bool cores_are_shared() {
  std::ifstream file("/proc/loadavg");
  double load = 0;
  std::size_t running = 0;
  for (int i = 0; i < 3; ++i) file >> load;
  return file >> running && running > 1;
}

}  // namespace

bool CalmThreads::needed = false;

CalmThreads::CalmThreads() {
  if (!needed || !cores_are_shared()) return;
  sleeper_ = std::thread([this] {
    int members = 0;
#pragma omp parallel num_threads(2) reduction(+ : members)
    members += 1;
    std::unique_lock lock(mutex_);
    ready_ = members > 0;
    changed_.notify_all();
    changed_.wait(lock, [&] { return over_; });
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_; });
}

CalmThreads::~CalmThreads() {
  if (!sleeper_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  sleeper_.join();
}

}  // namespace protogcd::python
