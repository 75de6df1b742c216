#include "protogcd/data/sampler.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {

Sampler::Sampler(std::size_t labelled, std::size_t unlabelled, std::uint64_t seed,
                 std::size_t batch_size)
    : labelled_(labelled),
      labelled_drawn_(labelled),
      unlabelled_drawn_(unlabelled),
      seed_(seed),
      batch_size_(std::min(batch_size, labelled + unlabelled)) {
  if (labelled + unlabelled == 0) throw DataError("no images to train on");
  if (batch_size == 0) throw InternalError("Sampler: a batch size of 0");
  batches_ = (labelled + unlabelled) / batch_size_;
}

Sampler::Sampler(std::size_t labelled, std::vector<std::uint32_t> among, std::uint64_t seed,
                 std::size_t batch_size, std::size_t batches)
    : labelled_(labelled),
      among_(std::move(among)),
      seed_(seed),
      batch_size_(batch_size),
      batches_(batches) {
  if (among_.empty()) throw DataError("no images to train on");
  if (batch_size == 0) throw InternalError("Sampler: a batch size of 0");
  std::ranges::sort(among_);
  labelled_drawn_ = static_cast<std::size_t>(
      std::ranges::lower_bound(among_, static_cast<std::uint32_t>(labelled)) - among_.begin());
  unlabelled_drawn_ = among_.size() - labelled_drawn_;
}

void Sampler::share(std::size_t rank, std::size_t size) {
  if (batch_size_ % size != 0) {
    throw UsageError(fmt::format("{}: a batch of {} images cannot be divided among {} processes",
                                 option_name("batch_size"), batch_size_, size),
                     "a batch has at most as many images as there are to draw from");
  }
  rows_ = batch_size_ / size;
  first_row_ = rank * rows_;
}

std::size_t Sampler::draw(std::uint32_t epoch, std::uint64_t position) const {
  if (!draws_.empty()) return draws_.at(position);
  RandomStream stream(
      {.seed = seed_, .purpose = RandomPurpose::kSampler, .epoch = epoch, .position = position});
  const bool from_labelled = unlabelled_drawn_ == 0 || (labelled_drawn_ > 0 && stream.chance(0.5));
  const std::size_t drawn = from_labelled ? stream.below(labelled_drawn_)
                                          : labelled_drawn_ + stream.below(unlabelled_drawn_);
  return among_.empty() ? drawn : among_[drawn];
}

}  // namespace protogcd
