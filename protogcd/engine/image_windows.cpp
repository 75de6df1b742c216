#include "protogcd/engine/image_windows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>

#include "protogcd/engine/pinned_memory.h"
#ifdef PROTOGCD_WITH_CUDA
#include "protogcd/engine/cuda_kernels.h"
#endif

namespace protogcd {

std::unique_ptr<ImageWindows> ImageWindows::make(const ImageCache& cache,
                                                 std::span<const std::uint32_t> list, int crop,
                                                 const Normalization& normalization,
                                                 at::ScalarType type, at::Device device,
                                                 const WindowRoom& room) {
  if (!device.is_cuda() || (type != at::kBFloat16 && type != at::kFloat)) return nullptr;
  std::unique_ptr<ImageWindows> windows(new ImageWindows);
  std::int64_t bytes = 0;
  for (const std::uint32_t source : list) {
    const Image* image = cache.find(source);
    if (image == nullptr) return nullptr;
    windows->images_.push_back({bytes, image->size()});
    bytes += static_cast<std::int64_t>(image->pixels.size());
  }
  windows->crop_ = crop;
  windows->normalization_ = normalization;
  windows->type_ = type;
  windows->device_ = device;
  const bool fits = static_cast<std::uint64_t>(bytes) <= room.on_gpu;
  if (!fits && static_cast<std::uint64_t>(bytes) > room.on_host) return nullptr;
  try {
    windows->pixels_ = fits ? at::empty({bytes}, at::device(device).dtype(at::kByte))
                            : make_pinned({bytes}, at::kByte);
  } catch (const std::exception&) {  // views are then cut on the CPU
    return nullptr;
  }

  // To the GPU in pieces, so that the host never holds all images twice.
  constexpr std::int64_t kPiece = std::int64_t{256} << 20;
  at::Tensor piece = fits ? at::empty({std::min(bytes, kPiece)}, at::kByte) : windows->pixels_;
  std::int64_t first = 0, filled = 0;
  const auto flush = [&] {
    if (fits) windows->pixels_.narrow(0, first, filled).copy_(piece.narrow(0, 0, filled));
    first += filled;
    filled = 0;
  };
  for (const std::uint32_t source : list) {
    const std::vector<std::uint8_t>& pixels = cache.find(source)->pixels;
    const auto size = static_cast<std::int64_t>(pixels.size());
    if (fits && size > kPiece) return nullptr;
    if (fits && filled + size > piece.numel()) flush();
    const std::int64_t at = fits ? filled : first + filled;
    std::memcpy(piece.data_ptr<std::uint8_t>() + at, pixels.data(), pixels.size());
    filled += size;
  }
  flush();
  return windows;
}

at::Tensor ImageWindows::places_of(std::span<const WindowRequest> requests) const {
  const auto count = static_cast<std::int64_t>(requests.size());
  at::Tensor places = at::empty({count, 2}, at::kLong);
  auto* out = places.data_ptr<std::int64_t>();
  at::parallel_for(0, count, 1024, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const WindowRequest& request = requests[static_cast<std::size_t>(i)];
      const Place& image = images_[request.image];
      RandomStream stream(request.draw);
      const RandomView view = draw_random_view(image.size, crop_, stream);
      const std::int64_t line = std::int64_t{3} * image.size.width;
      out[2 * i] = image.offset + view.box.top * line + std::int64_t{3} * view.box.left;
      out[2 * i + 1] = view.flip ? -line : line;
    }
  });
  return places.to(device_);
}

#ifdef PROTOGCD_WITH_CUDA

at::Tensor ImageWindows::cut(const at::Tensor& places) const {
  at::Tensor out = at::empty({places.size(0), 3, crop_, crop_}, at::device(device_).dtype(type_));
  cut_windows(pixels_.const_data_ptr<std::uint8_t>(), places, normalization_, out);
  return out;
}

#else

at::Tensor ImageWindows::cut(const at::Tensor&) const {
  return {};
}

#endif

}  // namespace protogcd
