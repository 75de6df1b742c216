// One kernel, compiled for several widths of vector registers and picked at run time, so that one
// program runs everywhere. A kernel is a struct with a static member template `run<kBytes>`, always
// inlined, that works on `FloatVector<kBytes>`; kBytes is the width of a register.
#pragma once

#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define PROTOGCD_WIDE_VECTORS 1
#endif

#define PROTOGCD_INLINE_KERNEL __attribute__((always_inline)) static inline

namespace protogcd {

enum class VectorWidth { kBytes16, kBytes32, kBytes64 };

/// The widest registers of this CPU that the build has kernels for.
VectorWidth widest_vectors();
/// All widths that can be used here, for tests.
std::vector<VectorWidth> usable_vectors();

/// Numbers in one register. May be loaded from any address of floats.
template <int kBytes>
struct FloatVector {
  typedef float Type __attribute__((vector_size(kBytes), aligned(4), may_alias));
  static constexpr int kCount = kBytes / 4;

  PROTOGCD_INLINE_KERNEL Type& at(float* address) { return *reinterpret_cast<Type*>(address); }
  PROTOGCD_INLINE_KERNEL const Type& at(const float* address) {
    return *reinterpret_cast<const Type*>(address);
  }
};

#ifdef PROTOGCD_WIDE_VECTORS
template <class Kernel, class... Arguments>
__attribute__((target("avx2,fma"))) void run_with_32_bytes(Arguments... arguments) {
  Kernel::template run<32>(arguments...);
}
template <class Kernel, class... Arguments>
__attribute__((target("avx2,fma,avx512f,avx512dq,avx512vl"))) void run_with_64_bytes(
    Arguments... arguments) {
  Kernel::template run<64>(arguments...);
}
#endif

/// Arguments are passed by value: pointers, numbers, small structs.
template <class Kernel, class... Arguments>
void run_kernel(VectorWidth width, Arguments... arguments) {
#ifdef PROTOGCD_WIDE_VECTORS
  if (width == VectorWidth::kBytes64) return run_with_64_bytes<Kernel>(arguments...);
  if (width == VectorWidth::kBytes32) return run_with_32_bytes<Kernel>(arguments...);
#endif
  (void)width;
  Kernel::template run<16>(arguments...);
}

}  // namespace protogcd
