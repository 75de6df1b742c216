#include "protogcd/engine/view_source.h"

#include "protogcd/core/error.h"

namespace protogcd {

FreshViews::FreshViews(const SourceTable& sources, std::vector<std::uint32_t> images,
                       const Sampler& sampler, const Trunk& trunk, LoaderOptions loader,
                       std::int64_t trunk_batch, std::uint64_t seed)
    : sources_(sources),
      images_(std::move(images)),
      sampler_(sampler),
      trunk_(trunk),
      loader_options_(loader),
      trunk_batch_(trunk_batch),
      seed_(seed),
      none_(BadImagePolicy::parse("fail", "0"), images_.size()) {
  loader_options_.batch = sampler.batch_size();
  loader_options_.views = 2;
}

void FreshViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  const std::size_t batch = sampler_.batch_size(), first = first_step * batch;
  const std::size_t draws = sampler_.batches_per_epoch() * batch - first;
  loader_.reset();  // its threads end before new ones start
  loader_ = std::make_unique<ImageLoader>(
      sources_,
      ImageList{draws,
                [this, epoch, first](std::size_t i) {
                  return ImageRequest{images_[sampler_.draw(epoch, first + i)],
                                      RandomKey{.seed = seed_,
                                                .purpose = RandomPurpose::kAugment,
                                                .epoch = epoch,
                                                .position = first + i}};
                }},
      loader_options_, none_);
}

TrunkTokens FreshViews::next() {
  const ImageBatch* batch = loader_ ? loader_->next() : nullptr;
  if (batch == nullptr) throw InternalError("FreshViews: no step left in this epoch");
  return run_in_batches(trunk_, batch->pixels, trunk_batch_);
}

}  // namespace protogcd
