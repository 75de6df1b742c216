#include "protogcd/core/numpy_random.h"

#include <fmt/core.h>

#include <limits>
#include <numeric>

#include "protogcd/core/error.h"

namespace protogcd {

// Uniform in [0, maximum]: masked rejection, one 32-bit word per try.
std::uint32_t NumpyRandom::interval(std::uint32_t maximum) {
  std::uint32_t mask = maximum;
  for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
  for (;;) {
    const auto value = static_cast<std::uint32_t>(engine_()) & mask;
    if (value <= maximum) return value;
  }
}

std::vector<std::size_t> NumpyRandom::permutation(std::size_t count) {
  if (count > std::numeric_limits<std::uint32_t>::max()) {
    throw InternalError(fmt::format("NumpyRandom: {} items are too many", count));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i-- > 1;) {
    std::swap(order[i], order[interval(static_cast<std::uint32_t>(i))]);
  }
  return order;
}

std::vector<std::size_t> NumpyRandom::choice(std::size_t count, std::size_t size) {
  if (size > count) {
    throw InternalError(fmt::format("NumpyRandom: cannot choose {} of {} items", size, count));
  }
  auto order = permutation(count);
  order.resize(size);
  return order;
}

}  // namespace protogcd
