#include "protogcd/pretrain/step_draws.h"

#include <ATen/ATen.h>

#include <numeric>
#include <span>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::int64_t kStepsPerChunk = 32;

at::Tensor on_device(const at::Tensor& tensor, at::Device device) {
  // From pinned memory the copy does not wait for the steps that are still being computed.
  return device.is_cuda() ? tensor.pin_memory().to(device, /*non_blocking=*/true) : tensor;
}

}  // namespace

std::int64_t StepDraws::image_at(std::int64_t position) {
  const std::int64_t epoch = position / options_.images;
  if (epoch != epoch_) {
    order_.resize(static_cast<std::size_t>(options_.images));
    std::iota(order_.begin(), order_.end(), 0);
    RandomStream random({.seed = options_.seed,
                         .purpose = RandomPurpose::kSampler,
                         .epoch = static_cast<std::uint32_t>(epoch)});
    shuffle(std::span(order_), random);
    epoch_ = epoch;
  }
  return order_[static_cast<std::size_t>(position % options_.images)];
}

void StepDraws::draw_chunk(std::int64_t chunk) {
  const auto& [images, batch, views, numbers, seed, device] = options_;
  at::Tensor rows = at::empty({kStepsPerChunk, batch}, at::kLong),
             uniforms = at::empty({kStepsPerChunk, views * batch, numbers}, at::kFloat);
  auto* row = rows.data_ptr<std::int64_t>();
  auto* uniform = uniforms.data_ptr<float>();
  for (std::int64_t step = chunk * kStepsPerChunk; step < (chunk + 1) * kStepsPerChunk; ++step) {
    for (std::int64_t i = 0; i < batch; ++i) *row++ = image_at(step * batch + i);
    for (std::int64_t i = 0; i < views * batch; ++i) {
      RandomStream random({.seed = seed,
                           .purpose = RandomPurpose::kAugment,
                           .epoch = static_cast<std::uint32_t>(step),
                           .position = static_cast<std::uint64_t>(i % batch),
                           .view = static_cast<std::uint8_t>(i / batch)});
      // 24 bits: a float holds them exactly, and none becomes 1.
      for (std::int64_t k = 0; k < numbers; ++k)
        *uniform++ = static_cast<float>(random.next_word() >> 8) * 0x1p-24F;
    }
  }
  rows_ = on_device(rows, device);
  numbers_ = on_device(uniforms, device);
  chunk_ = chunk;
}

StepDraw StepDraws::at(std::int64_t step) {
  if (step / kStepsPerChunk != chunk_) draw_chunk(step / kStepsPerChunk);
  const std::int64_t place = step % kStepsPerChunk;
  return {rows_[place], numbers_[place]};
}

}  // namespace protogcd
