#include "protogcd/engine/embedder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace protogcd {

// By value: its weights go as soon as those in the form that is needed are made.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
Embedder::Embedder(Backbone backbone, const Placement& placement, bool with_tokens)
    : device_(placement.device), exact_(placement.trained) {
  if (with_tokens) {
    plain_.emplace(backbone.vit.converted(placement.frozen, device_));
  } else {
    // The same split as the trained model's, so that its features come out to the same bits.
    const std::int64_t first =
        backbone.trained ? backbone.trained->first_block : backbone.config.depth - 1;
    trunk_.emplace(backbone.vit, placement.frozen, device_, first);
    blocks_ = make_trained_blocks(backbone.vit, first, exact_, device_);
  }
}

at::Tensor Embedder::home(const at::Tensor& values) const {
  const at::Tensor exact = values.to(exact_).contiguous();
  if (!device_.is_cuda()) return exact;
  at::Tensor here = at::empty(exact.sizes(), at::TensorOptions(exact_).pinned_memory(true));
  return here.copy_(exact, /*non_blocking=*/true);
}

Embedder::Pending Embedder::start(const at::Tensor& images) const {
  const at::NoGradGuard no_grad;
  Pending pending;
  if (plain_) {
    const at::Tensor tokens =
        plain_->forward_tokens(images.to(plain_->weights().patches.weight.scalar_type()));
    pending.result_ = {home(tokens.select(1, 0)), home(tokens)};
  } else {
    pending.result_ = {home(blocks_->forward(trunk_->run(images))), {}};
  }
  if (device_.is_cuda()) {
    pending.ready_.emplace(device_.type());
    pending.ready_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  return pending;
}

Embedder::Result Embedder::wait(const Pending& pending) {
  if (pending.ready_) pending.ready_->synchronize();
  return pending.result_;
}

}  // namespace protogcd
