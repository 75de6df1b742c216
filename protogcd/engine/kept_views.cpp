#include "protogcd/engine/kept_views.h"

#include <utility>

namespace protogcd {

const TrunkTokens* KeptTokens::find(std::uint64_t seed, std::uint32_t epoch,
                                    std::size_t step) const {
  const auto found = steps_.find({seed, epoch, step});
  return found == steps_.end() ? nullptr : &found->second;
}

void KeptTokens::keep(std::uint64_t seed, std::uint32_t epoch, std::size_t step,
                      const TrunkTokens& tokens) {
  const std::uint64_t bytes = bytes_of(tokens);
  if (bytes > left_) return;
  left_ -= bytes;
  steps_.emplace(std::tuple(seed, epoch, step), tokens);
}

KeptViews::KeptViews(std::unique_ptr<ViewSource> views, std::shared_ptr<KeptTokens> kept,
                     std::uint64_t seed)
    : views_(std::move(views)), kept_(std::move(kept)), seed_(seed) {}

void KeptViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  epoch_ = epoch;
  next_ = first_step;
  is_reading_ = false;  // images are read only where tokens are missing
}

void KeptViews::advance() {
  if (const TrunkTokens* known = kept_->find(seed_, epoch_, next_)) {
    current_ = *known;
    is_reading_ = false;
  } else {
    if (!is_reading_) views_->start_epoch(epoch_, next_);
    is_reading_ = true;
    current_ = {};  // the memory of the tokens before may be used again
    current_ = views_->next();
    kept_->keep(seed_, epoch_, next_, current_);
  }
  ++next_;
}

}  // namespace protogcd
