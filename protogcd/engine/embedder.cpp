#include "protogcd/engine/embedder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace protogcd {
namespace {

c10::Stream computing_stream(at::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace

Embedder::Embedder(Backbone backbone, at::ScalarType type, at::Device device, bool with_tokens)
    : device_(device), exact_(type == at::kDouble ? at::kDouble : at::kFloat) {
  if (with_tokens) {
    plain_.emplace(backbone.vit.converted(type, device));
  } else {
    trunk_.emplace(backbone.vit, type, device);
    tail_.emplace(backbone.vit, exact_, device);
  }
  if (device.is_cuda())
    copies_ = c10::impl::VirtualGuardImpl(device.type()).getStreamFromGlobalPool(device);
}

/// On a stream of its own, so that a batch travels while the one before it is computed.
at::Tensor Embedder::upload(const at::Tensor& images) const {
  if (!copies_) return images;
  const c10::Stream computing = computing_stream(device_);
  c10::Event arrived(device_.type());
  at::Tensor there;
  {
    const c10::StreamGuard guard(*copies_);
    there = images.to(device_, /*non_blocking=*/true);
    arrived.record(*copies_);
  }
  arrived.block(computing);
  there.record_stream(computing);  // its memory is not given away before computing is done with it
  return there;
}

at::Tensor Embedder::home(const at::Tensor& values) const {
  const at::Tensor exact = values.to(exact_).contiguous();
  if (!copies_) return exact;
  at::Tensor here = at::empty(exact.sizes(), at::TensorOptions(exact_).pinned_memory(true));
  return here.copy_(exact, /*non_blocking=*/true);
}

Embedder::Pending Embedder::start(const at::Tensor& images) const {
  const at::NoGradGuard no_grad;
  Pending pending;
  pending.images_ = images;
  const at::Tensor input = upload(images);
  if (plain_) {
    const at::Tensor tokens =
        plain_->forward_tokens(input.to(plain_->weights().patches.weight.scalar_type()));
    pending.result_ = {home(tokens.select(1, 0)), home(tokens)};
  } else {
    pending.result_ = {home(tail_->forward(trunk_->run(input))), {}};
  }
  if (copies_) {
    pending.ready_.emplace(device_.type());
    pending.ready_->record(computing_stream(device_));
  }
  return pending;
}

Embedder::Result Embedder::wait(const Pending& pending) {
  if (pending.ready_) pending.ready_->synchronize();
  return pending.result_;
}

}  // namespace protogcd
