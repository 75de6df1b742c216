#include "protogcd/engine/evaluation_tokens.h"

#include <ATen/ATen.h>

#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/progress.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

EvaluationTokens::EvaluationTokens(const SourceTable& sources, std::vector<std::uint32_t> list,
                                   const Trunk& trunk, const LoaderOptions& loader,
                                   std::uint64_t max_bytes)
    : sources_(sources),
      list_(std::move(list)),
      trunk_(trunk),
      loader_(loader),
      max_bytes_(max_bytes),
      stored_((list_.size() + loader.batch - 1) / loader.batch) {}

void EvaluationTokens::for_each(
    const Context& context, const std::function<void(const TrunkTokens&, std::size_t first)>& use) {
  std::vector<std::size_t> all(batches());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for_batches(all, context,
              [&](const TrunkTokens& tokens, std::size_t batch) { use(tokens, first_of(batch)); });
}

void EvaluationTokens::for_batches(
    const std::vector<std::size_t>& asked, const Context& context,
    const std::function<void(const TrunkTokens&, std::size_t batch)>& use) {
  std::vector<std::uint32_t> missing;
  for (const std::size_t batch : asked) {
    if (!stored_[batch])
      missing.insert(missing.end(), list_.begin() + static_cast<std::ptrdiff_t>(first_of(batch)),
                     list_.begin() + static_cast<std::ptrdiff_t>(first_of(batch + 1)));
  }
  // Only what is computed is shown: a pass over stored tokens takes moments.
  std::optional<Progress> progress;
  SkippedFiles none(BadImagePolicy::parse("fail", "0"), list_.size());
  std::optional<ImageLoader> images;
  if (!missing.empty()) {
    progress.emplace("tokens", missing.size(), "images", context.progress());
    // Whole batches but for the list's last, which comes last: they stay those of the list.
    images.emplace(sources_, ImageList::center_views(missing), loader_, none);
  }
  for (const std::size_t batch : asked) {
    if (stored_[batch]) {
      use(*stored_[batch], batch);
      continue;
    }
    const ImageBatch* read = images->next();
    if (read == nullptr) throw InternalError("EvaluationTokens: the loader ended early");
    TrunkTokens tokens = trunk_.run(read->pixels);
    use(tokens, batch);
    progress->add(read->sources.size());
    if (stored_bytes_ + bytes_of(tokens) > max_bytes_) continue;
    stored_bytes_ += bytes_of(tokens);
    stored_[batch] = std::move(tokens);
  }
}

void EvaluationTokens::for_each_rows(const Context& context,
                                     const std::function<at::Tensor(const TrunkTokens&)>& compute,
                                     const std::function<void(const at::Tensor& rows)>& use,
                                     std::size_t first_image) {
  const std::shared_ptr<Communicator> team = communicator_of(context);
  const auto size = static_cast<std::size_t>(team->size()),
             rank = static_cast<std::size_t>(team->rank());
  // In each round a batch of every process; in the last, those without one repeat the last batch.
  std::size_t first = (first_image + loader_.batch - 1) / loader_.batch;  // of the round
  if (first_of(first) != std::min(first_image, list_.size()))
    throw InternalError("EvaluationTokens: no batch begins there");
  std::vector<std::size_t> own;
  for (std::size_t batch = first; batch < batches(); batch += size)
    own.push_back(std::min(batch + rank, batches() - 1));
  for_batches(own, context, [&](const TrunkTokens& tokens, std::size_t) {
    const at::Tensor rows = compute(tokens);
    if (size == 1) return use(rows);
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[0] = static_cast<std::int64_t>(loader_.batch);
    at::Tensor padded = at::zeros(shape, rows.options());
    padded.narrow(0, 0, rows.size(0)).copy_(rows);
    const auto of_all = team->all_gather(padded).chunk(static_cast<std::int64_t>(size));
    for (std::size_t i = 0; i < size && first + i < batches(); ++i)
      use(of_all[i].narrow(
          0, 0, static_cast<std::int64_t>(first_of(first + i + 1) - first_of(first + i))));
    first += size;
  });
}

}  // namespace protogcd
