#include "protogcd/data/sampler.h"

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {

Sampler::Sampler(std::size_t labelled, std::size_t unlabelled, std::uint64_t seed,
                 std::size_t batch_size)
    : labelled_(labelled),
      unlabelled_(unlabelled),
      seed_(seed),
      batch_size_(std::min(batch_size, labelled + unlabelled)) {
  if (labelled + unlabelled == 0) throw DataError("no images to train on");
  if (batch_size == 0) throw InternalError("Sampler: a batch size of 0");
}

std::size_t Sampler::draw(std::uint32_t epoch, std::uint64_t position) const {
  RandomStream stream(
      {.seed = seed_, .purpose = RandomPurpose::kSampler, .epoch = epoch, .position = position});
  const bool from_labelled = unlabelled_ == 0 || (labelled_ > 0 && stream.chance(0.5));
  return from_labelled ? stream.below(labelled_) : labelled_ + stream.below(unlabelled_);
}

}  // namespace protogcd
