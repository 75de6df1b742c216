// What chance decides in pre-training: which images a step sees, and the numbers its augmentation
// and drop path use. A function of seed and step alone, so that a resumed run draws the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace protogcd {

struct DrawOptions {
  std::int64_t images = 0;   ///< to draw from
  std::int64_t batch = 0;    ///< images a step
  std::int64_t views = 1;    ///< of each image
  std::int64_t numbers = 0;  ///< for each view
  std::uint64_t seed = 0;
  at::Device device = at::kCPU;
};

struct StepDraw {
  at::Tensor rows;  ///< [B] int64: images
  at::Tensor
      numbers;  ///< [V * B, R] float32, uniform in [0, 1); row v * B + i is view v of image i
};

/// Images come in epochs: each is drawn once before any is drawn again, in an order that is new in
/// every epoch. A batch may reach over the end of one.
class StepDraws {
 public:
  explicit StepDraws(const DrawOptions& options) : options_(options) {}

  /// Drawn on the CPU for some steps at once, so that they travel to a GPU together.
  StepDraw at(std::int64_t step);

 private:
  void draw_chunk(std::int64_t chunk);
  std::int64_t image_at(std::int64_t position);

  DrawOptions options_;
  std::int64_t chunk_ = -1, epoch_ = -1;
  std::vector<std::int64_t> order_;  ///< of the images in the epoch
  at::Tensor rows_, numbers_;        ///< [steps, B], [steps, V * B, R]
};

}  // namespace protogcd
