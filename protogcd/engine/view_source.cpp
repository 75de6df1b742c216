#include "protogcd/engine/view_source.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// Of the first view of what a step draws; the second has the next `view`. Strong views have
/// numbers of their own.
RandomKey key_of(std::uint64_t seed, std::uint32_t epoch, std::uint64_t position,
                 bool is_strong = false) {
  return {.seed = seed,
          .purpose = is_strong ? RandomPurpose::kStrongAugment : RandomPurpose::kAugment,
          .epoch = epoch,
          .position = position};
}

class LoadedPixels : public PixelSource {
 public:
  LoadedPixels(const SourceTable& sources, std::vector<std::uint32_t> images,
               const Sampler& sampler, LoaderOptions options, std::uint64_t seed, std::size_t views)
      : sources_(sources),
        images_(std::move(images)),
        sampler_(sampler),
        options_(std::move(options)),
        seed_(seed),
        none_(BadImagePolicy::parse("fail", "0"), images_.size()) {
    options_.batch = sampler.rows();
    options_.views = views;
  }

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override {
    const std::size_t rows = sampler_.rows();
    const std::size_t draws = (sampler_.batches_per_epoch() - first_step) * rows;
    loader_.reset();  // its threads end before new ones start
    loader_ = std::make_unique<ImageLoader>(
        sources_,
        ImageList{draws,
                  [this, epoch, first_step, rows](std::size_t i) {
                    const std::uint64_t position =
                        sampler_.position(first_step + i / rows, i % rows);
                    return ImageRequest{images_[sampler_.draw_image(epoch, position)],
                                        key_of(seed_, epoch, position, !!options_.strong)};
                  }},
        options_, none_);
  }

  at::Tensor next() override {
    const ImageBatch* batch = loader_ ? loader_->next() : nullptr;
    if (batch == nullptr) throw InternalError("LoadedPixels: no step left in this epoch");
    return batch->pixels;
  }

 private:
  const SourceTable& sources_;
  const std::vector<std::uint32_t> images_;
  const Sampler& sampler_;
  LoaderOptions options_;
  std::uint64_t seed_;
  SkippedFiles none_;
  std::unique_ptr<ImageLoader> loader_;
};

class CutPixels : public PixelSource {
 public:
  CutPixels(const ImageWindows& windows, const Sampler& sampler, std::uint64_t seed,
            std::size_t views)
      : windows_(windows), sampler_(sampler), seed_(seed), views_(views) {}

  /// All windows of the epoch at once, so that no step waits for numbers on their way to the GPU.
  void start_epoch(std::uint32_t epoch, std::size_t first_step) override {
    const std::size_t rows = sampler_.rows(), steps = sampler_.batches_per_epoch();
    std::vector<WindowRequest> requests;
    requests.reserve((steps - first_step) * views_ * rows);
    for (std::size_t step = first_step; step < steps; ++step) {
      for (std::size_t view = 0; view < views_; ++view) {
        for (std::size_t i = 0; i < rows; ++i) {
          RandomKey key = key_of(seed_, epoch, sampler_.position(step, i));
          key.view = static_cast<std::uint8_t>(view);
          requests.push_back({sampler_.draw_image(epoch, sampler_.position(step, i)), key});
        }
      }
    }
    places_ = windows_.places_of(requests);
    next_ = 0;
  }

  at::Tensor next() override {
    const auto rows = static_cast<std::int64_t>(views_ * sampler_.rows());
    next_ += rows;
    return windows_.cut(places_.narrow(0, next_ - rows, rows));
  }

 private:
  const ImageWindows& windows_;
  const Sampler& sampler_;
  std::uint64_t seed_;
  std::size_t views_;
  at::Tensor places_;  ///< [steps * V B, 2]
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<PixelSource> make_loaded_pixels(const SourceTable& sources,
                                                std::vector<std::uint32_t> images,
                                                const Sampler& sampler, LoaderOptions loader,
                                                std::uint64_t seed, std::size_t views) {
  return std::make_unique<LoadedPixels>(sources, std::move(images), sampler, std::move(loader),
                                        seed, views);
}

std::unique_ptr<PixelSource> make_cut_pixels(const ImageWindows& windows, const Sampler& sampler,
                                             std::uint64_t seed, std::size_t views) {
  return std::make_unique<CutPixels>(windows, sampler, seed, views);
}

FreshViews::FreshViews(std::unique_ptr<PixelSource> pixels, const Sampler& sampler,
                       const Trunk& trunk, std::int64_t trunk_batch, at::Device device)
    : pixels_(std::move(pixels)),
      sampler_(sampler),
      trunk_(trunk),
      trunk_batch_(trunk_batch),
      device_(device),
      clock_(device) {
  if (!device.is_cuda()) return;
  stream_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
  made_.emplace(device.type());
  copied_.emplace(device.type());
}

void FreshViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  if (stream_) {  // what made weights and images ready was on another stream
    c10::Event ready(device_.type());
    ready.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    ready.block(*stream_);
  }
  std::optional<c10::StreamGuard> guard;
  if (stream_) guard.emplace(*stream_);
  pixels_->start_epoch(epoch, first_step);
  left_ = sampler_.batches_per_epoch() - first_step;
  ahead_ = {};
}

/// The tokens of the next step, on the trunk's own stream.
void FreshViews::compute_ahead() {
  const c10::StreamGuard guard(*stream_);
  const at::Tensor pixels = pixels_->next();  // the host may wait here for images to be read
  clock_.begin(*stream_);
  if (current_.normalised.defined() || current_.raw.defined())
    copied_->block(*stream_);  // the memory of the tokens before may be used again
  ahead_ = {};
  ahead_ = run_in_batches(trunk_, pixels, trunk_batch_);
  made_->record(*stream_);
  clock_.end(*stream_);
  --left_;
}

void FreshViews::advance() {
  if (!stream_) {
    current_ = {};
    current_ = run_in_batches(trunk_, pixels_->next(), trunk_batch_);
    return;
  }
  const bool has_ahead = ahead_.normalised.defined() || ahead_.raw.defined();
  if (!has_ahead && left_ == 0) throw InternalError("FreshViews: no step left in this epoch");
  if (!has_ahead) compute_ahead();
  const c10::Stream computing = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_);
  made_->block(computing);
  for (at::Tensor TrunkTokens::*member :
       {&TrunkTokens::normalised, &TrunkTokens::class_token, &TrunkTokens::raw}) {
    const at::Tensor& from = ahead_.*member;
    if (!from.defined()) continue;
    at::Tensor& to = current_.*member;
    if (!to.defined()) to = at::empty_like(from);
    to.copy_(from);
  }
  copied_->record(computing);
  if (left_ > 0) {
    compute_ahead();
  } else {
    copied_->block(*stream_);
    ahead_ = {};
  }
}

}  // namespace protogcd
