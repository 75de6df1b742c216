#include "protogcd/analysis/vector_dispatch.h"

namespace protogcd {

VectorWidth widest_vectors() {
#ifdef PROTOGCD_WIDE_VECTORS
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return VectorWidth::kBytes64;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorWidth::kBytes32;
#endif
  return VectorWidth::kBytes16;
}

std::vector<VectorWidth> usable_vectors() {
  std::vector<VectorWidth> widths;
  for (const auto width : {VectorWidth::kBytes16, VectorWidth::kBytes32, VectorWidth::kBytes64})
    if (width <= widest_vectors()) widths.push_back(width);
  return widths;
}

}  // namespace protogcd
