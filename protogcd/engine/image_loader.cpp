#include "protogcd/engine/image_loader.h"

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

namespace protogcd {

/// What the stream writes a batch into.
struct ImageLoader::Buffer {
  at::Tensor pixels;  ///< [rows, 3, crop, crop] float32, or for a GPU [rows, crop, crop, 3] 8-bit
  std::optional<c10::Event> copied;  ///< when a GPU has taken the pixels

  Buffer(const StreamRoom& room, const LoaderOptions& options) {
    const auto rows = static_cast<std::int64_t>(room.rows);
    const std::int64_t side = options.view.crop;
    pixels =
        options.device.is_cuda()
            ? at::empty({rows, side, side, 3}, at::TensorOptions(at::kByte).pinned_memory(true))
            : at::empty({rows, 3, side, side}, at::TensorOptions(at::kFloat));
  }

  PixelRows rows() {
    const auto size = static_cast<std::size_t>(pixels.numel());
    if (pixels.scalar_type() == at::kByte)
      return std::span<std::uint8_t>(pixels.data_ptr<std::uint8_t>(), size);
    return std::span<float>(pixels.data_ptr<float>(), size);
  }
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
    there.record_stream(computing);  // not given away before computing is done with it
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
  LoaderOptions loader;
  loader.view = ViewSize::for_crop(static_cast<int>(pixels.size));
  loader.decode = {.apply_orientation = reading.apply_orientation,
                   .fast_short_side = reading.fast_decode ? loader.view.short_side : 0};
  loader.batch = static_cast<std::size_t>(batch);
  loader.threads = threads;
  loader.device = device;
  for (std::size_t i = 0; i < 3; ++i) {
    loader.normalization.mean[i] = static_cast<float>(pixels.mean[i]);
    loader.normalization.deviation[i] = static_cast<float>(pixels.deviation[i]);
  }
  return loader;
}

ImageLoader::ImageLoader(const SourceTable& sources, ImageList list, const LoaderOptions& options,
                         SkippedFiles& skipped) {
  if (options.device.is_cuda())
    upload_ = std::make_unique<Upload>(options.device, options.normalization);
  const StreamRoom room(list, options);
  std::vector<PixelRows> rows;
  buffers_.reserve(room.buffers);
  for (std::size_t i = 0; i < room.buffers; ++i)
    rows.push_back(buffers_.emplace_back(room, options).rows());
  stream_ =
      std::make_unique<ImageStream>(sources, std::move(list), options, std::move(rows), skipped);
}

ImageLoader::~ImageLoader() = default;

const ImageBatch* ImageLoader::next() {
  if (in_use_ != nullptr && in_use_->copied) in_use_->copied->synchronize();
  const StreamBatch* read = stream_->next();
  if (read == nullptr) return nullptr;
  in_use_ = &buffers_[read->buffer];
  batch_.sources = read->sources;
  batch_.end = read->end;
  batch_.pixels = in_use_->pixels.narrow(0, 0, static_cast<std::int64_t>(read->rows));
  if (upload_) batch_.pixels = upload_->run(batch_.pixels, in_use_->copied);
  return &batch_;
}

}  // namespace protogcd
