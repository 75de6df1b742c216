#include "protogcd/core/random.h"

#include <cmath>
#include <numbers>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;

}  // namespace

PhiloxCounter philox4x32_10(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Counter words: block within the stream | position, low 32 bits | epoch | position, high 16 bits;
// view; purpose.
RandomStream::RandomStream(const RandomKey& key)
    : key_{static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(key.position), key.epoch,
               static_cast<std::uint32_t>(key.position >> 32) << 16 | std::uint32_t{key.view} << 8 |
                   static_cast<std::uint32_t>(key.purpose)} {
  if (key.position >> 48 != 0) throw InternalError("RandomKey: position needs more than 48 bits");
}

std::uint32_t RandomStream::next_word() {
  if (used_ == 4) {
    words_ = philox4x32_10(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return words_[used_++];
}

std::uint64_t RandomStream::next_long() {
  const std::uint64_t high = next_word();
  return high << 32 | next_word();
}

double RandomStream::uniform() {
  return static_cast<double>(next_long() >> 11) * 0x1p-53;
}

// Masked rejection as numpy does it: take just enough bits, try again while the value is too large.
std::uint64_t RandomStream::below(std::uint64_t bound) {
  if (bound == 0) throw InternalError("RandomStream::below: bound must be positive");
  std::uint64_t mask = bound - 1;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  for (;;) {
    const std::uint64_t value = (mask >> 32 == 0 ? next_word() : next_long()) & mask;
    if (value < bound) return value;
  }
}

std::int64_t RandomStream::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace protogcd
