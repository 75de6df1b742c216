// Trunk tokens of images whose views never change (resized, cropped in the middle): computed once,
// kept as far as memory reaches, so that every later evaluation costs a tail pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/trunk.h"

namespace protogcd {

class EvaluationTokens {
 public:
  /// `sources`, `trunk` and the options' cache must outlive it. Every image must be good: DataError
  /// names one that is not.
  EvaluationTokens(const SourceTable& sources, std::vector<std::uint32_t> list, const Trunk& trunk,
                   const LoaderOptions& loader, std::uint64_t max_bytes);

  std::size_t size() const { return list_.size(); }
  /// Hands out the tokens of all images in order, batch by batch; `first` is the position of the
  /// batch's first image. What is not stored is computed again, to the same bits.
  void for_each(const Context& context,
                const std::function<void(const TrunkTokens&, std::size_t first)>& use);

  /// Hands out what `compute` makes of each batch, rows [b, ...] on the device, in order. Of
  /// several processes each computes, and stores, every so-manieth batch, and all are handed the
  /// rows of all: all must ask at the same time. From the batch on that image `first` begins.
  void for_each_rows(const Context& context,
                     const std::function<at::Tensor(const TrunkTokens&)>& compute,
                     const std::function<void(const at::Tensor& rows)>& use, std::size_t first = 0);

 private:
  /// The same for some of the batches, in this order.
  void for_batches(const std::vector<std::size_t>& batches, const Context& context,
                   const std::function<void(const TrunkTokens&, std::size_t batch)>& use);
  std::size_t batches() const { return stored_.size(); }
  /// Where a batch's images begin; of the last and one more, the number of images.
  std::size_t first_of(std::size_t batch) const {
    return std::min(batch * loader_.batch, list_.size());
  }

  const SourceTable& sources_;
  std::vector<std::uint32_t> list_;
  const Trunk& trunk_;
  LoaderOptions loader_;
  std::uint64_t max_bytes_, stored_bytes_ = 0;
  std::vector<std::optional<TrunkTokens>> stored_;  ///< by batch, as far as memory reaches
};

}  // namespace protogcd
