// Work of many small kernels, recorded once as a CUDA graph and then launched as one.
//
//   CapturedWork work(device);
//   for (...) work.run([&] { ... always the same operations, on tensors that stay ... });
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

namespace protogcd {

class CapturedWork {
 public:
  explicit CapturedWork(c10::Device device);
  ~CapturedWork();
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;

  /// Every call must ask for the same work: what it reads and writes lies at the same addresses,
  /// nothing is read back or decided on the host. The first calls run it as it is; then it is
  /// recorded, and `work` itself is not called again. On a CPU it always is.
  void run(const std::function<void()>& work);

 private:
  struct Graph;

  void record(const std::function<void()>& work);

  c10::Device device_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace protogcd
