#include "protogcd/engine/placement.h"

#include <sys/resource.h>
#include <unistd.h>

#ifdef PROTOGCD_WITH_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime.h>
#endif

#include <array>
#include <string>

#include "protogcd/core/memory_limits.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/state_dict.h"

namespace protogcd {

Placement place(const Context& context) {
  const ComputeDevice chosen = resolve_device(context.device);
  const at::Device device = chosen.is_cuda
                                ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(chosen.index))
                                : at::Device(at::kCPU);
  const at::ScalarType frozen = trunk_type(context.dtype, device);
  return {.device = device,
          .frozen = frozen,
          .trained = frozen == at::kDouble ? at::kDouble : at::kFloat,
          .tf32 = context.dtype == "tf32" && chosen.is_cuda};
}

std::string Placement::arithmetic() const {
  return tf32 ? "tf32" : std::string(element_name(element_type_of(frozen)));
}

std::string identity_of_gpu(at::Device device) {
#ifdef PROTOGCD_WITH_CUDA
  std::array<char, 64> bus{}, host{};
  if (device.is_cuda() &&
      cudaDeviceGetPCIBusId(bus.data(), bus.size(), device.index()) == cudaSuccess &&
      ::gethostname(host.data(), host.size() - 1) == 0)
    return std::string(host.data()) + ' ' + bus.data();
#endif
  (void)device;
  return "";
}

std::uint64_t free_memory(at::Device device, const ProcessPlace& process) {
#ifdef PROTOGCD_WITH_CUDA
  if (device.is_cuda()) {
    const c10::cuda::CUDAGuard guard(device);
    std::size_t available = 0, total = 0;
    if (cudaMemGetInfo(&available, &total) == cudaSuccess)
      return available / static_cast<std::uint64_t>(process.on_gpu);
  }
#endif
  (void)device;
  return free_main_memory(process.on_machine);
}

PeakMemory peak_memory(at::Device device) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  PeakMemory peak{.host = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024};
#ifdef PROTOGCD_WITH_CUDA
  if (device.is_cuda()) {
    constexpr std::size_t kOfAllSizes = 0;
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device.index());
    peak.gpu = static_cast<std::uint64_t>(stats.reserved_bytes[kOfAllSizes].peak);
  }
#endif
  (void)device;
  return peak;
}

}  // namespace protogcd
