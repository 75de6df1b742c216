// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011). What is drawn depends only on
// what it is for, never on thread count or order, and a resumed run needs no generator state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace protogcd {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// One block of the Random123 function: 4 random words for a counter and a key.
PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key);

/// What a stream of numbers is for. Values are part of the reproducibility promise: append, never
/// renumber.
enum class RandomPurpose : std::uint8_t {
  kTest = 0,
  kSampler = 1,     ///< which image is drawn
  kAugment = 2,     ///< crop offsets and flips of a view
  kInitialise = 3,  ///< initial weights
  kDraw = 4,        ///< the built-in datasets
  kClustering = 5,
  kCorruption = 6,
  kShuffle = 7,
  kBankView = 8,         ///< crop and flip of a view in the token bank
  kBankPair = 9,         ///< which two views of the bank a draw takes
  kBorrow = 10,          ///< whose difference of views a view borrows
  kMap = 11,             ///< where a map of the features begins
  kKeepOut = 12,         ///< which labelled images calibration keeps out of training
  kHide = 13,            ///< which classes a trial takes for new
  kRedraw = 14,          ///< which images a resample of the bootstrap has
  kStrongAugment = 15,   ///< a strong view of a step's image
  kStrongBankView = 16,  ///< a strong view in the token bank
};

/// Where a stream stands (design: seed, purpose, epoch, position of the draw in the epoch, view).
struct RandomKey {
  std::uint64_t seed = 0;
  RandomPurpose purpose = RandomPurpose::kTest;
  std::uint32_t epoch = 0;
  std::uint64_t position = 0;  ///< below 2^48
  std::uint8_t view = 0;
};

/// A stream of numbers for one key. Cheap to make: no state beyond a counter and four buffered
/// words.
class RandomStream {
 public:
  explicit RandomStream(const RandomKey& key);

  std::uint32_t next_word();
  std::uint64_t next_long();
  /// Uniform in [0, 1) with 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform integer in [0, bound), without bias; bound must be positive.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform integer in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high);
  bool chance(double probability) { return uniform() < probability; }
  /// Standard normal (Box-Muller, one value per call).
  double normal();

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter words_{};
  unsigned used_ = 4;
};

/// Fisher-Yates.
template <class T>
void shuffle(std::span<T> items, RandomStream& stream) {
  for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[stream.below(i)]);
}

}  // namespace protogcd
