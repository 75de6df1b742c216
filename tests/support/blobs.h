// Made-up rows for clustering.
#pragma once

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cstdint>

namespace protogcd::testing {

/// Rows around `k` centres; where `separation` is small they overlap.
inline at::Tensor blobs(std::int64_t rows, std::int64_t width, std::int64_t k, double separation,
                        std::uint64_t seed = 1) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  const at::Tensor centres = at::randn({k, width}, generator, at::kFloat) * separation;
  return at::randn({rows, width}, generator, at::kFloat) +
         centres.index_select(0, at::arange(rows, at::kLong) % k);
}

}  // namespace protogcd::testing
