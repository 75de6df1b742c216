#include "protogcd/engine/captured_work.h"

#ifdef PROTOGCD_WITH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#include <c10/core/Event.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

namespace protogcd {

#ifdef PROTOGCD_WITH_CUDA

struct CapturedWork::Graph {
  explicit Graph(c10::Device device)
      : stream(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())) {}

  /// Libraries choose their kernels and take their workspaces in the first calls.
  static constexpr int kPlainRuns = 3;
  c10::cuda::CUDAStream stream;  ///< a graph cannot be recorded on the default stream
  at::cuda::CUDAGraph graph;
  int runs = 0;
};

CapturedWork::CapturedWork(c10::Device device) : device_(device) {
  if (device.is_cuda()) graph_ = std::make_unique<Graph>(device);
}

void CapturedWork::record(const std::function<void()>& work) {
  // The graph has memory of its own: what the plain runs needed is given back first.
  c10::cuda::CUDACachingAllocator::emptyCache();
  // Other threads may go on allocating while this one records.
  graph_->graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  try {
    work();
  } catch (...) {
    try {
      graph_->graph.capture_end();
    } catch (const std::exception&) {  // the first error is the one to be told
    }
    throw;
  }
  graph_->graph.capture_end();
}

void CapturedWork::run(const std::function<void()>& work) {
  if (!graph_) return work();
  const c10::cuda::CUDAGuard on_device(device_);
  const c10::cuda::CUDAStream outside = c10::cuda::getCurrentCUDAStream();
  const auto wait = [](const c10::cuda::CUDAStream& waiting, const c10::cuda::CUDAStream& awaited) {
    c10::Event event(c10::DeviceType::CUDA);
    event.record(awaited.unwrap());
    event.block(waiting.unwrap());
  };
  if (graph_->runs <= Graph::kPlainRuns) {
    wait(graph_->stream, outside);
    {
      const c10::cuda::CUDAStreamGuard guard(graph_->stream);
      if (graph_->runs == Graph::kPlainRuns) {
        record(work);
      } else {
        work();
      }
    }
    wait(outside, graph_->stream);
    if (++graph_->runs <= Graph::kPlainRuns) return;
  }
  graph_->graph.replay();
}

#else

struct CapturedWork::Graph {};

CapturedWork::CapturedWork(c10::Device device) : device_(device) {}

void CapturedWork::run(const std::function<void()>& work) {
  work();
}

#endif

CapturedWork::~CapturedWork() = default;

}  // namespace protogcd
