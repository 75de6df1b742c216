#include "protogcd/engine/image_loader.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "protogcd/core/error.h"

namespace protogcd {

/// One batch in the making.
struct ImageLoader::Slot {
  at::Tensor pixels;  ///< [views * batch, 3, crop, crop] float32, or for a GPU [..., crop, crop, 3]
                      ///< 8-bit
  std::optional<c10::Event> copied;  ///< when a GPU has taken the pixels
  std::size_t first = 0, count = 0;
  std::vector<MaybeBad> bad;               ///< [count]
  std::vector<std::exception_ptr> errors;  ///< [count]
  std::size_t pending = 0;                 ///< images not yet loaded

  template <class T>
  std::span<T> row(std::size_t index) {
    const auto size = static_cast<std::size_t>(pixels.stride(0));
    return {pixels.data_ptr<T>() + index * size, size};
  }
};

/// What a thread reads images with; buffers are kept from image to image.
struct ImageLoader::Worker {
  Worker(const SourceTable& sources, const DecodeOptions& options) : reader(sources, options) {}

  ResizedReader reader;
  Image image;
};

/// To and on a GPU: pixels travel on a stream of their own, while the batch before them is
/// computed.
class ImageLoader::Upload {
 public:
  Upload(at::Device device, const Normalization& normalization)
      : guard_(device.type()), device_(device), copies_(guard_.getStreamFromGlobalPool(device)) {
    const auto channels = [&](const std::array<float, 3>& values) {
      return at::tensor(at::ArrayRef<float>(values.data(), 3)).to(device).view({1, 3, 1, 1});
    };
    mean_ = channels(normalization.mean);
    deviation_ = channels(normalization.deviation);
    largest_ = channels({255, 255, 255});
  }

  /// [N, H, W, 3] 8-bit in pinned memory -> [N, 3, H, W] float32, the numbers of Normalizer.
  /// `copied` tells when the memory may be written again.
  at::Tensor run(const at::Tensor& pixels, std::optional<c10::Event>& copied) const {
    const c10::Stream computing = guard_.getStream(device_);
    if (!copied) copied.emplace(device_.type());
    at::Tensor there;
    {
      const c10::StreamGuard on_copies(copies_);
      there = pixels.to(device_, /*non_blocking=*/true);
      copied->record(copies_);
    }
    copied->block(computing);
    there.record_stream(
        computing);  // its memory is not given away before computing is done with it
    return there.permute({0, 3, 1, 2})
        .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous)
        .div_(largest_)  // a plain 255 would become a product with its inverse
        .sub_(mean_)
        .div_(deviation_);
  }

 private:
  c10::impl::VirtualGuardImpl guard_;
  at::Device device_;
  c10::Stream copies_;
  at::Tensor mean_, deviation_, largest_;  ///< [1, 3, 1, 1]
};

LoaderOptions loader_options(const Preprocessing& pixels, const ReadingOptions& reading,
                             std::int64_t batch, std::size_t threads, at::Device device) {
  const ViewSize view = ViewSize::for_crop(static_cast<int>(pixels.size));
  LoaderOptions loader{.view = view,
                       .normalization = {},
                       .decode = {.apply_orientation = reading.apply_orientation,
                                  .fast_short_side = reading.fast_decode ? view.short_side : 0},
                       .batch = static_cast<std::size_t>(batch),
                       .threads = threads,
                       .device = device};
  for (std::size_t i = 0; i < 3; ++i) {
    loader.normalization.mean[i] = static_cast<float>(pixels.mean[i]);
    loader.normalization.deviation[i] = static_cast<float>(pixels.deviation[i]);
  }
  return loader;
}

ImageList ImageList::center_views(std::span<const std::uint32_t> sources) {
  return {sources.size(), [sources](std::size_t i) {
            return ImageRequest{sources[i], std::nullopt};
          }};
}

ImageLoader::ImageLoader(const SourceTable& sources, ImageList list, const LoaderOptions& options,
                         SkippedFiles& skipped)
    : sources_(sources),
      list_(std::move(list)),
      options_(options),
      normalizer_(options.normalization),
      skipped_(skipped),
      // A queue that holds every slot's images: submitting never makes the caller wait.
      pool_(options.threads, (options.ahead + 1) * std::max<std::size_t>(options.batch, 1)) {
  if (options.batch == 0) throw InternalError("ImageLoader: an empty batch");
  if (options.device.is_cuda()) {
    upload_ = std::make_unique<Upload>(options.device, options.normalization);
  }
  idle_.reserve(options.threads);
  const std::size_t batches = (list_.size + options.batch - 1) / options.batch;
  const auto rows = static_cast<std::int64_t>(options.views * std::min(options.batch, list_.size));
  for (std::size_t i = 0; i < std::min(options.ahead + 1, batches); ++i) {
    slots_.push_back(std::make_unique<Slot>());
    const std::int64_t side = options.view.crop;
    slots_.back()->pixels =
        options.device.is_cuda()
            ? at::empty({rows, side, side, 3}, at::TensorOptions(at::kByte).pinned_memory(true))
            : at::empty({rows, 3, side, side}, at::TensorOptions(at::kFloat));
  }
  for (auto& slot : slots_) schedule(*slot);
}

ImageLoader::~ImageLoader() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

void ImageLoader::schedule(Slot& slot) {
  if (slot.copied) slot.copied->synchronize();
  slot.first = scheduled_;
  slot.count = std::min(options_.batch, list_.size - scheduled_);
  slot.bad.assign(slot.count, std::nullopt);
  slot.errors.assign(slot.count, nullptr);
  slot.pending = slot.count;
  scheduled_ += slot.count;
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
    if (worker == nullptr) worker = std::make_unique<Worker>(sources_, options_.decode);
    slot.bad[index] = read(*worker, list_.at(slot.first + index), slot, index);
  } catch (...) {
    slot.errors[index] = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  if (worker != nullptr) idle_.push_back(std::move(worker));
  if (--slot.pending == 0) loaded_.notify_one();
}

MaybeBad ImageLoader::read(Worker& worker, const ImageRequest& request, Slot& slot,
                           std::size_t index) const {
  const int side = options_.view.crop;
  if (options_.change) {
    if (auto bad = read_changed(worker, request.source)) return bad;
    put(worker.image, center_crop_box(worker.image.size(), side), false, slot, index);
    return std::nullopt;
  }
  const Image* image = options_.cache ? options_.cache->find(request.source) : nullptr;
  if (!request.draw) {
    const auto bad = image ? std::nullopt
                           : worker.reader.read_center(request.source, options_.view, worker.image);
    if (bad) return bad;
    const ImageBox box = image ? center_crop_box(image->size(), side) : ImageBox{0, 0, side, side};
    put(image ? *image : worker.image, box, false, slot, index);
    return std::nullopt;
  }
  if (image == nullptr) {
    const int short_side = options_.view.short_side;
    if (auto bad = worker.reader.read(request.source, short_side, worker.image)) return bad;
    image = &worker.image;
  }
  RandomKey key = *request.draw;
  for (std::size_t view = 0; view < options_.views; ++view, ++key.view) {
    RandomStream stream(key);
    const RandomView drawn = draw_random_view(image->size(), side, stream);
    put(*image, drawn.box, drawn.flip, slot, view * slot.count + index);
  }
  return std::nullopt;
}

MaybeBad ImageLoader::read_changed(Worker& worker, std::uint32_t source) const {
  ImageOrBad whole = worker.reader.read_whole(source);
  if (auto* bad = std::get_if<BadImage>(&whole)) return std::move(*bad);
  ImageOrBad resized =
      resize_short_side(options_.change(std::get<Image>(whole), source), options_.view.short_side);
  if (auto* bad = std::get_if<BadImage>(&resized)) return std::move(*bad);
  worker.image = std::move(std::get<Image>(resized));
  return std::nullopt;
}

void ImageLoader::put(const Image& image, const ImageBox& box, bool flip, Slot& slot,
                      std::size_t row) const {
  if (options_.device.is_cuda()) {
    copy_window(image, box, flip, slot.row<std::uint8_t>(row));
  } else {
    normalizer_.apply(image, box, flip, slot.row<float>(row));
  }
}

/// The slot's images become the batch: errors are thrown, bad images noted, good ones moved
/// together.
void ImageLoader::finish(Slot& slot) {
  for (const auto& error : slot.errors) {
    if (error) std::rethrow_exception(error);
  }
  batch_.sources.clear();
  batch_.end = slot.first + slot.count;
  for (std::size_t i = 0; i < slot.count; ++i) {
    const std::uint32_t source = list_.at(slot.first + i).source;
    if (slot.bad[i]) {
      if (options_.views > 1) {
        throw DataError(fmt::format("{}: {}", sources_.path(source), slot.bad[i]->reason));
      }
      skipped_.add(sources_, source, std::move(slot.bad[i]->reason));
      continue;
    }
    const std::size_t place = batch_.sources.size();
    if (place != i)
      slot.pixels[static_cast<std::int64_t>(place)].copy_(
          slot.pixels[static_cast<std::int64_t>(i)]);
    batch_.sources.push_back(source);
  }
  const auto rows = static_cast<std::int64_t>(options_.views * batch_.sources.size());
  batch_.pixels = slot.pixels.narrow(0, 0, rows);
  if (upload_) batch_.pixels = upload_->run(batch_.pixels, slot.copied);
}

const ImageBatch* ImageLoader::next() {
  for (;;) {
    // The slot handed out last is free again: it takes the next images of the list.
    if (std::exchange(started_, true) && !slots_.empty()) {
      schedule(*slots_[current_]);
      current_ = (current_ + 1) % slots_.size();
    }
    if (slots_.empty() || slots_[current_]->count == 0) return nullptr;
    Slot& slot = *slots_[current_];
    {
      std::unique_lock lock(mutex_);
      loaded_.wait(lock, [&] { return slot.pending == 0; });
    }
    finish(slot);
    if (!batch_.sources.empty()) return &batch_;
  }
}

}  // namespace protogcd
