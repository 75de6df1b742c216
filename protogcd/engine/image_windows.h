// Decoded images where a GPU reads them, so that crops cost neither the CPU nor the bus anything.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "protogcd/core/random.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/image/resize.h"
#include "protogcd/image/transform.h"

namespace protogcd {

/// A random view of an image, by its place in the list.
struct WindowRequest {
  std::size_t image = 0;
  RandomKey draw;
};

/// Bytes that images may take.
struct WindowRoom {
  std::uint64_t on_gpu = 0, on_host = 0;
};

class ImageWindows {
 public:
  /// Copies the images of the list: to the GPU's memory if there is room, else to pinned memory of
  /// the host. nullptr where there is room in neither, where the cache lacks one of them, or
  /// without a GPU. Windows are `crop` wide, in numbers of `type`.
  static std::unique_ptr<ImageWindows> make(const ImageCache& cache,
                                            std::span<const std::uint32_t> list, int crop,
                                            const Normalization& normalization, at::ScalarType type,
                                            at::Device device, const WindowRoom& room);

  /// The views that ImageLoader would draw, as a table for `cut`: [M, 2] on the GPU.
  at::Tensor places_of(std::span<const WindowRequest> requests) const;
  /// [M, 3, S, S]: the numbers that ImageLoader would give, rounded to `type`.
  at::Tensor cut(const at::Tensor& places) const;

  bool is_on_gpu() const { return pixels_.is_cuda(); }

 private:
  ImageWindows() = default;

  struct Place {
    std::int64_t offset;
    ImageSize size;
  };

  int crop_ = 0;
  Normalization normalization_;
  at::ScalarType type_ = at::kFloat;
  at::Device device_ = at::kCPU;
  std::vector<Place> images_;
  at::Tensor pixels_;  ///< all bytes
};

}  // namespace protogcd
