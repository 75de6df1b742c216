#include "protogcd/engine/borrowed_views.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#ifdef PROTOGCD_WITH_CUDA
#include "protogcd/engine/cuda_kernels.h"
#endif

namespace protogcd {

void borrow_differences(TrunkTokens& tokens, const at::Tensor& other, const at::Tensor& factor,
                        double epsilon, Communicator* team) {
#ifdef PROTOGCD_WITH_CUDA
  if (team == nullptr && can_borrow_on_cuda(tokens))
    return borrow_on_cuda(tokens, other, factor, epsilon);
#endif
  const bool is_normalised = tokens.normalised.defined();
  at::Tensor in_place =
      is_normalised ? tokens.class_token : tokens.raw.select(1, 0);  // [2B, D], a view
  const at::Tensor class_token = in_place.to(at::promote_types(in_place.scalar_type(), at::kFloat));
  const auto halves = class_token.chunk(2);  // [B, D] each
  at::Tensor lent = halves[0] - halves[1];
  if (team != nullptr) lent = team->all_gather(lent);
  const at::Tensor differences = lent.index_select(0, other);  // [2B, D]
  in_place.copy_(
      at::addcmul(class_token, differences, factor.to(class_token.scalar_type()).unsqueeze(1)));
  if (!is_normalised) return;
  const at::Tensor normed = at::layer_norm(in_place, {in_place.size(1)}, {}, {}, epsilon);
  if (tokens.rows.defined()) {  // the bank's own tokens stay as they are
    tokens.first = normed.to(tokens.normalised.scalar_type());
  } else {
    tokens.normalised.select(1, 0).copy_(normed);
  }
}

BorrowedViews::BorrowedViews(std::unique_ptr<ViewSource> views, const Sampler& sampler,
                             double strength, double epsilon, std::uint64_t seed, at::Device device,
                             std::shared_ptr<Communicator> team)
    : views_(std::move(views)),
      sampler_(sampler),
      strength_(strength),
      epsilon_(epsilon),
      seed_(seed),
      device_(device),
      team_(std::move(team)) {}

/// All draws of the epoch at once, so that no step waits for numbers on their way to the device.
void BorrowedViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  views_->start_epoch(epoch, first_step);
  step_ = static_cast<std::int64_t>(first_step);
  const auto steps = static_cast<std::int64_t>(sampler_.batches_per_epoch());
  const std::size_t batch = sampler_.batch_size(), own = sampler_.rows();
  const auto rows = static_cast<std::int64_t>(2 * own);
  at::Tensor others = at::empty({steps, rows}, at::kLong),
             factors = at::empty({steps, rows}, at::kFloat);
  auto* other = others.data_ptr<std::int64_t>();
  auto* factor = factors.data_ptr<float>();
  for (std::int64_t i = step_ * rows; i < steps * rows; ++i) {
    const auto step = static_cast<std::size_t>(i / rows), row = static_cast<std::size_t>(i % rows);
    // Of the step's 2B rows, both views of an image: view 1 of all, then view 2.
    const std::uint64_t position =
        sampler_.position(step, row % own) + step * batch + row / own * batch;
    RandomStream stream(
        {.seed = seed_, .purpose = RandomPurpose::kBorrow, .epoch = epoch, .position = position});
    other[i] = static_cast<std::int64_t>(stream.below(sampler_.batch_size()));
    factor[i] = static_cast<float>(strength_ * stream.uniform(-1, 1));
  }
  others_ = others.to(device_);
  factors_ = factors.to(device_);
  if (other_.defined()) return;
  other_ = at::empty_like(others_[0]);
  factor_ = at::empty_like(factors_[0]);
}

void BorrowedViews::advance() {
  views_->advance();
  other_.copy_(others_[step_]);
  factor_.copy_(factors_[step_]);
  ++step_;
}

TrunkTokens BorrowedViews::tokens() {
  const at::NoGradGuard no_grad;
  TrunkTokens tokens = views_->tokens();
  borrow_differences(tokens, other_, factor_, epsilon_, team_.get());
  return tokens;
}

}  // namespace protogcd
