// Where and in which numbers a model computes: what --device and --dtype mean on this machine.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "protogcd/core/context.h"

namespace protogcd {

struct Placement {
  at::Device device = at::kCPU;
  at::ScalarType frozen = at::kFloat;   ///< of the trunk
  at::ScalarType trained = at::kFloat;  ///< of everything else: float32, or float64 with the trunk
  bool tf32 = false;                    ///< products of float32 numbers are rounded (nn/device.h)

  /// What numbers depend on: "float32", "tf32", ...
  std::string arithmetic() const;

  /// Images that the trunk takes at once.
  std::int64_t trunk_batch() const { return device.is_cuda() ? 256 : 16; }
};

/// DeviceError where the device is absent.
Placement place(const Context& context);

/// Names a GPU among those of all machines, whatever number it has for this process; "" for a CPU.
std::string identity_of_gpu(at::Device device);

/// Bytes that a process can still take, if those beside it take as many: of main memory
/// (core/memory_limits.h), or of a GPU.
std::uint64_t free_memory(at::Device device, const ProcessPlace& process = {});

/// The most that was held at one time, in bytes.
struct PeakMemory {
  std::uint64_t host = 0;  ///< by this process
  std::uint64_t gpu = 0;   ///< by libtorch for it
};
PeakMemory peak_memory(at::Device device);

}  // namespace protogcd
