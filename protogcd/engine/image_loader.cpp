#include "protogcd/engine/image_loader.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "protogcd/core/error.h"
#include "protogcd/image/image_reader.h"

namespace protogcd {

/// One batch in the making.
struct ImageLoader::Slot {
  at::Tensor pixels;  ///< [batch, 3, crop, crop]
  std::size_t first = 0, count = 0;
  std::vector<MaybeBad> bad;               ///< [count]
  std::vector<std::exception_ptr> errors;  ///< [count]
  std::size_t pending = 0;                 ///< images not yet loaded

  float* image(std::size_t index) {
    return static_cast<float*>(pixels.data_ptr()) +
           static_cast<std::int64_t>(index) * pixels.stride(0);
  }
};

/// What a thread reads images with; buffers are kept from image to image.
struct ImageLoader::Worker {
  explicit Worker(const DecodeOptions& options) : reader(options) {}

  ImageReader reader;
  Resizer resizer;
  Image view;
};

ImageLoader::ImageLoader(const SourceTable& sources, std::span<const std::uint32_t> list,
                         const LoaderOptions& options, SkippedFiles& skipped)
    : sources_(sources),
      list_(list),
      options_(options),
      normalizer_(options.normalization),
      skipped_(skipped),
      // A queue that holds every slot's images: submitting never makes the caller wait.
      pool_(options.threads,
            (options.ahead + options.held) * std::max<std::size_t>(options.batch, 1)) {
  if (options.batch == 0 || options.held == 0)
    throw InternalError("ImageLoader: an empty batch, or none held");
  idle_.reserve(options.threads);
  const std::size_t batches = (list.size() + options.batch - 1) / options.batch;
  const auto size = static_cast<std::int64_t>(std::min(options.batch, list.size()));
  for (std::size_t i = 0; i < std::min(options.ahead + options.held, batches); ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->pixels = at::empty({size, 3, options.view.crop, options.view.crop},
                                      at::TensorOptions(at::kFloat).pinned_memory(options.pinned));
  }
  for (auto& slot : slots_) schedule(*slot);
}

ImageLoader::~ImageLoader() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

void ImageLoader::schedule(Slot& slot) {
  slot.first = scheduled_;
  slot.count = std::min(options_.batch, list_.size() - scheduled_);
  slot.bad.assign(slot.count, std::nullopt);
  slot.errors.assign(slot.count, nullptr);
  slot.pending = slot.count;
  scheduled_ += slot.count;
  if (slot.count > 0) scheduled_slots_.push_back(&slot);
  for (std::size_t i = 0; i < slot.count; ++i) {
    pool_.submit([this, &slot, i] { load(slot, i); });
  }
}

/// Runs on a thread of the pool, and keeps every exception.
void ImageLoader::load(Slot& slot, std::size_t index) {
  std::unique_ptr<Worker> worker;
  try {
    {
      const std::lock_guard lock(mutex_);
      if (!stopping_ && !idle_.empty()) {
        worker = std::move(idle_.back());
        idle_.pop_back();
      }
      if (stopping_) return;
    }
    if (worker == nullptr) worker = std::make_unique<Worker>(options_.decode);
    slot.bad[index] = read(*worker, list_[slot.first + index]);
    if (!slot.bad[index]) {
      const int side = options_.view.crop;
      normalizer_.apply(worker->view, {0, 0, side, side}, false,
                        {slot.image(index), std::size_t{3} * side * side});
    }
  } catch (...) {
    slot.errors[index] = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (worker != nullptr) idle_.push_back(std::move(worker));
  if (--slot.pending == 0) loaded_.notify_one();
}

MaybeBad ImageLoader::read(Worker& worker, std::uint32_t source) const {
  if (!sources_.is_record(source)) {
    return worker.reader.read_center_view(sources_.path(source), options_.view, worker.view);
  }
  const Image image = sources_.load_record(source);
  const auto target = size_with_short_side(image.size(), options_.view.short_side);
  if (!target) return BadImage{"too elongated to be resized"};
  worker.resizer.resize(image, image.size(), {0, 0, image.width, image.height}, *target,
                        center_crop_box(*target, options_.view.crop), worker.view);
  return std::nullopt;
}

/// The slot's images become the batch: errors are thrown, bad images noted, good ones moved
/// together.
void ImageLoader::finish(Slot& slot) {
  for (const auto& error : slot.errors) {
    if (error) std::rethrow_exception(error);
  }
  batch_.sources.clear();
  batch_.end = slot.first + slot.count;
  const std::size_t image_bytes = static_cast<std::size_t>(slot.pixels.stride(0)) * sizeof(float);
  for (std::size_t i = 0; i < slot.count; ++i) {
    const std::uint32_t source = list_[slot.first + i];
    if (slot.bad[i]) {
      skipped_.add(sources_, source, std::move(slot.bad[i]->reason));
      continue;
    }
    const std::size_t place = batch_.sources.size();
    if (place != i) std::memcpy(slot.image(place), slot.image(i), image_bytes);
    batch_.sources.push_back(source);
  }
  batch_.pixels = slot.pixels.narrow(0, 0, static_cast<std::int64_t>(batch_.sources.size()));
}

const ImageBatch* ImageLoader::next() {
  if (held_slots_.size() == options_.held) {
    schedule(*held_slots_.front());
    held_slots_.pop_front();
  }
  while (!scheduled_slots_.empty()) {
    Slot& slot = *scheduled_slots_.front();
    scheduled_slots_.pop_front();
    {
      std::unique_lock lock(mutex_);
      loaded_.wait(lock, [&] { return slot.pending == 0; });
    }
    finish(slot);
    if (!batch_.sources.empty()) {
      held_slots_.push_back(&slot);
      return &batch_;
    }
    schedule(slot);  // nothing in it was good
  }
  return nullptr;
}

}  // namespace protogcd
