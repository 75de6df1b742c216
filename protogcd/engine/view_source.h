// Where training's views come from: trunk tokens of one or two views of every image that a step
// draws.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "protogcd/data/sampler.h"
#include "protogcd/engine/device_clock.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/image_windows.h"
#include "protogcd/engine/trunk.h"

namespace protogcd {

/// Weak: a crop, perhaps mirrored (image/transform.h). Strong: colours, sharpness and scale change
/// too.
enum class ViewStrength { kWeak, kStrong };

class ViewSource {
 public:
  virtual ~ViewSource() = default;
  /// The steps of an epoch from `first_step` on.
  virtual void start_epoch(std::uint32_t epoch, std::size_t first_step) = 0;
  /// Makes the next step's views ready.
  virtual void advance() = 0;
  /// Tokens of that step's rows: view 1 of every image, then view 2 where there are two. On CUDA
  /// always the same operations on tensors that stay where they are, so that they can be recorded
  /// (captured_work.h).
  virtual TrunkTokens tokens() = 0;

  TrunkTokens next() {
    advance();
    return tokens();
  }
  /// When the GPU made views, where that is work of its own.
  virtual DeviceClock* clock() { return nullptr; }
};

/// Pixels of the views that a sampler's steps draw: [V B, 3, S, S] on the trunk's device, V = 1 or
/// 2 of each image.
class PixelSource {
 public:
  virtual ~PixelSource() = default;
  virtual void start_epoch(std::uint32_t epoch, std::size_t first_step) = 0;
  /// Good until the next call.
  virtual at::Tensor next() = 0;
};

/// Views of images that are read as they are needed, strong ones where the loader's options say so.
/// `images`: the source of each sample. All references, and what the options refer to, must outlive
/// it.
std::unique_ptr<PixelSource> make_loaded_pixels(const SourceTable& sources,
                                                std::vector<std::uint32_t> images,
                                                const Sampler& sampler, LoaderOptions loader,
                                                std::uint64_t seed, std::size_t views = 2);
/// The same views, weak ones alone, of images that a GPU can read; image i of `windows` is sample
/// i.
std::unique_ptr<PixelSource> make_cut_pixels(const ImageWindows& windows, const Sampler& sampler,
                                             std::uint64_t seed, std::size_t views = 2);

/// New crops for every draw, as the paper: every view costs a pass through the trunk. On CUDA that
/// pass is a step ahead, beside the step that trains.
class FreshViews : public ViewSource {
 public:
  /// All references must outlive it.
  FreshViews(std::unique_ptr<PixelSource> pixels, const Sampler& sampler, const Trunk& trunk,
             std::int64_t trunk_batch, at::Device device);

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  void advance() override;
  TrunkTokens tokens() override { return current_; }
  DeviceClock* clock() override { return stream_ ? &clock_ : nullptr; }

 private:
  void compute_ahead();

  std::unique_ptr<PixelSource> pixels_;
  const Sampler& sampler_;
  const Trunk& trunk_;
  std::int64_t trunk_batch_;
  at::Device device_;
  std::size_t left_ = 0;  ///< steps of the epoch whose tokens are not begun
  TrunkTokens current_, ahead_;
  std::optional<c10::Stream> stream_;        ///< of the trunk, on CUDA
  std::optional<c10::Event> made_, copied_;  ///< `ahead_`, and its copy to `current_`
  DeviceClock clock_;
};

}  // namespace protogcd
