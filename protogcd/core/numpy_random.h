// numpy's legacy generator (numpy.random.seed, permutation, choice), bit for bit: the published
// splits depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace protogcd {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : engine_(seed) {}

  /// numpy.random.permutation(count)
  std::vector<std::size_t> permutation(std::size_t count);
  /// numpy.random.choice(range(count), size, replace=False), in numpy's order
  std::vector<std::size_t> choice(std::size_t count, std::size_t size);

 private:
  std::uint32_t interval(std::uint32_t maximum);

  std::mt19937 engine_;
};

}  // namespace protogcd
