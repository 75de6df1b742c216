// Where training's views come from: trunk tokens of two views of every image that a step draws.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "protogcd/data/sampler.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/trunk.h"

namespace protogcd {

class ViewSource {
 public:
  virtual ~ViewSource() = default;
  /// The steps of an epoch from `first_step` on.
  virtual void start_epoch(std::uint32_t epoch, std::size_t first_step) = 0;
  /// Tokens of the next step's 2B rows: view 1 of every image, then view 2.
  virtual TrunkTokens next() = 0;
};

/// New crops for every draw, as the paper: decoding overlaps the trunk, and every view costs a pass
/// through it.
class FreshViews : public ViewSource {
 public:
  /// `images`: the source of each sample. All references, and what the options refer to, must
  /// outlive it.
  FreshViews(const SourceTable& sources, std::vector<std::uint32_t> images, const Sampler& sampler,
             const Trunk& trunk, LoaderOptions loader, std::int64_t trunk_batch,
             std::uint64_t seed);

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  TrunkTokens next() override;

 private:
  const SourceTable& sources_;
  const std::vector<std::uint32_t> images_;
  const Sampler& sampler_;
  const Trunk& trunk_;
  LoaderOptions loader_options_;
  std::int64_t trunk_batch_;
  std::uint64_t seed_;
  SkippedFiles none_;
  std::unique_ptr<ImageLoader> loader_;
};

}  // namespace protogcd
