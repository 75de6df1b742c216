#include "protogcd/engine/evaluation_tokens.h"

#include <ATen/ATen.h>

#include "protogcd/core/progress.h"

namespace protogcd {

EvaluationTokens::EvaluationTokens(const SourceTable& sources, std::vector<std::uint32_t> list,
                                   const Trunk& trunk, const LoaderOptions& loader,
                                   std::uint64_t max_bytes)
    : sources_(sources),
      list_(std::move(list)),
      trunk_(trunk),
      loader_(loader),
      max_bytes_(max_bytes) {}

void EvaluationTokens::for_each(
    const Context& context, const std::function<void(const TrunkTokens&, std::size_t first)>& use) {
  for (std::size_t i = 0; i < stored_.size(); ++i) use(stored_[i], i * loader_.batch);
  std::size_t done = stored_.size() * loader_.batch;
  if (done >= list_.size()) return;

  // Only what is computed is shown: a pass over stored tokens takes moments.
  Progress progress("tokens", list_.size() - done, "images", context.progress());
  SkippedFiles none(BadImagePolicy::parse("fail", "0"), list_.size());
  ImageLoader images(sources_,
                     ImageList::center_views(std::span<const std::uint32_t>(list_).subspan(done)),
                     loader_, none);
  while (const ImageBatch* batch = images.next()) {
    TrunkTokens tokens = trunk_.run(batch->pixels);
    use(tokens, done);
    const bool all_before_stored = stored_.size() * loader_.batch == done;
    if (all_before_stored && stored_bytes_ + bytes_of(tokens) <= max_bytes_) {
      stored_bytes_ += bytes_of(tokens);
      stored_.push_back(std::move(tokens));
    }
    done += batch->sources.size();
    progress.add(batch->sources.size());
  }
}

}  // namespace protogcd
