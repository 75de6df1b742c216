#include "protogcd/engine/pinned_memory.h"

#include <ATen/ATen.h>
#include <c10/util/accumulate.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

#ifdef PROTOGCD_WITH_CUDA
#include <cuda_runtime.h>
#include <sys/mman.h>
#endif

namespace protogcd {

#ifdef PROTOGCD_WITH_CUDA

at::Tensor make_pinned(at::IntArrayRef sizes, at::ScalarType type) {
  const std::size_t bytes =
      static_cast<std::size_t>(c10::multiply_integers(sizes)) * c10::elementSize(type);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_there = memory != MAP_FAILED &&
                        cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess;
  if (!is_there) {
    (void)cudaGetLastError();  // it is told here, not by the next kernel
    if (memory != MAP_FAILED) ::munmap(memory, bytes);
    throw DeviceError(fmt::format("{} of pinned memory are not to be had", human_bytes(bytes)));
  }
  const auto release = [bytes](void* pointer) {
    (void)cudaHostUnregister(pointer);
    ::munmap(pointer, bytes);
  };
  return at::from_blob(memory, sizes, release, at::TensorOptions(type));
}

#else

at::Tensor make_pinned(at::IntArrayRef, at::ScalarType) {
  throw InternalError("pinned memory in a build without CUDA");
}

#endif

}  // namespace protogcd
