#include "protogcd/data/image_stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "protogcd/core/error.h"

namespace protogcd {

/// One batch in the making.
struct ImageStream::Slot {
  PixelRows rows;
  std::size_t first = 0, count = 0;
  std::vector<MaybeBad> bad;               ///< [count]
  std::vector<std::exception_ptr> errors;  ///< [count]
  std::size_t pending = 0;                 ///< images not yet loaded
};

/// What a thread reads images with; buffers are kept from image to image.
struct ImageStream::Worker {
  Worker(const SourceTable& sources, const DecodeOptions& options) : reader(sources, options) {}

  ResizedReader reader;
  StrongViewMaker maker;
  Image image, view;
};

ImageList ImageList::center_views(std::span<const std::uint32_t> sources) {
  return {sources.size(), [sources](std::size_t i) {
            return ImageRequest{sources[i], std::nullopt};
          }};
}

StreamRoom::StreamRoom(const ImageList& list, const StreamOptions& options)
    : rows(options.views * std::min(options.batch, list.size)),
      row_size(std::size_t{3} * options.view.crop * options.view.crop) {
  if (options.batch == 0) throw InternalError("ImageStream: an empty batch");
  buffers = std::min(options.ahead + 1, (list.size + options.batch - 1) / options.batch);
}

ImageStream::ImageStream(const SourceTable& sources, ImageList list, const StreamOptions& options,
                         std::vector<PixelRows> buffers, SkippedFiles& skipped)
    : sources_(sources),
      list_(std::move(list)),
      options_(options),
      room_(list_, options),
      normalizer_(options.normalization),
      skipped_(skipped),
      // A queue that holds every slot's images: submitting never makes the caller wait.
      pool_(options.threads, (options.ahead + 1) * options.batch) {
  const auto fits = [&](const PixelRows& rows) {
    return std::visit([&](const auto& span) { return span.size() == room_.rows * room_.row_size; },
                      rows);
  };
  if (buffers.size() != room_.buffers || !std::ranges::all_of(buffers, fits))
    throw InternalError("ImageStream: not the buffers that it asks for");
  idle_.reserve(options.threads);
  for (const PixelRows& rows : buffers) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->rows = rows;
  }
  for (auto& slot : slots_) schedule(*slot);
}

ImageStream::~ImageStream() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
}

void ImageStream::schedule(Slot& slot) {
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
void ImageStream::load(Slot& slot, std::size_t index) {
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

MaybeBad ImageStream::read(Worker& worker, const ImageRequest& request, const Slot& slot,
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
  for (std::size_t view = 0; view < options_.views; ++view, ++key.view)
    put_drawn(worker, *image, RandomStream(key), slot, view * slot.count + index);
  return std::nullopt;
}

void ImageStream::put_drawn(Worker& worker, const Image& image, RandomStream random,
                            const Slot& slot, std::size_t row) const {
  const int side = options_.view.crop;
  if (!options_.strong) {
    const RandomView drawn = draw_random_view(image.size(), side, random);
    put(image, drawn.box, drawn.flip, slot, row);
    return;
  }
  worker.maker.make(image, side, *options_.strong, random, worker.view);
  put(worker.view, {0, 0, side, side}, false, slot, row);
}

MaybeBad ImageStream::read_changed(Worker& worker, std::uint32_t source) const {
  ImageOrBad whole = worker.reader.read_whole(source);
  if (auto* bad = std::get_if<BadImage>(&whole)) return std::move(*bad);
  ImageOrBad resized =
      resize_short_side(options_.change(std::get<Image>(whole), source), options_.view.short_side);
  if (auto* bad = std::get_if<BadImage>(&resized)) return std::move(*bad);
  worker.image = std::move(std::get<Image>(resized));
  return std::nullopt;
}

void ImageStream::put(const Image& image, const ImageBox& box, bool flip, const Slot& slot,
                      std::size_t row) const {
  const std::size_t first = row * room_.row_size;
  if (const auto* bytes = std::get_if<std::span<std::uint8_t>>(&slot.rows)) {
    copy_window(image, box, flip, bytes->subspan(first, room_.row_size));
  } else {
    const auto& numbers = std::get<std::span<float>>(slot.rows);
    normalizer_.apply(image, box, flip, numbers.subspan(first, room_.row_size));
  }
}

/// The slot's images become the batch: errors are thrown, bad images noted, good ones moved
/// together.
void ImageStream::finish(Slot& slot) {
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
    if (place != i) {
      std::visit(
          [&](const auto& rows) {
            std::ranges::copy(rows.subspan(i * room_.row_size, room_.row_size),
                              rows.begin() + static_cast<std::ptrdiff_t>(place * room_.row_size));
          },
          slot.rows);
    }
    batch_.sources.push_back(source);
  }
  batch_.rows = options_.views * batch_.sources.size();
}

const StreamBatch* ImageStream::next() {
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
    batch_.buffer = current_;
    if (!batch_.sources.empty()) return &batch_;
  }
}

}  // namespace protogcd
