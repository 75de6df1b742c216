#include "protogcd/engine/bank_views.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstring>

#include "protogcd/core/error.h"
#ifdef PROTOGCD_WITH_CUDA
#include "protogcd/engine/cuda_kernels.h"
#endif

namespace protogcd {

std::pair<std::int64_t, std::int64_t> draw_two_views(std::uint64_t seed, std::uint32_t epoch,
                                                     std::uint64_t position, std::int64_t views) {
  RandomStream stream(
      {.seed = seed, .purpose = RandomPurpose::kBankPair, .epoch = epoch, .position = position});
  const auto count = static_cast<std::uint64_t>(views);
  const auto one = static_cast<std::int64_t>(stream.below(count));
  const auto other = static_cast<std::int64_t>(stream.below(count - 1));
  return {one, other < one ? other : other + 1};
}

BankViews::BankViews(TokenBank& bank, const Sampler& sampler, std::uint64_t seed, at::Device device,
                     std::size_t views)
    : BankViews(
          [&bank](std::uint32_t epoch) -> const BankStore& {
            bank.prepare(epoch);
            return bank.store();
          },
          sampler, seed, device, views) {}

BankViews::BankViews(Prepare prepare, const Sampler& sampler, std::uint64_t seed, at::Device device,
                     std::size_t views)
    : prepare_(std::move(prepare)),
      sampler_(sampler),
      seed_(seed),
      device_(device),
      slots_(views * sampler.rows()),
      images_(views * sampler.rows()) {}

bool BankViews::gpu_gathers() const {
  const at::Tensor all = bank_->all_tokens();
  return device_.is_cuda() && all.defined() && (all.is_cuda() || all.is_pinned());
}

bool BankViews::stays_in_bank() const {
  return bank_->layout().with_class_token && bank_->all_tokens().is_cuda();
}

void BankViews::make_buffers() {
  if (tokens_.defined() || rows_.defined()) return;
  const BankLayout& l = bank_->layout();
  const auto rows = static_cast<std::int64_t>(images_.size());
  const auto make = [&](at::Device device) {
    const auto options = at::TensorOptions().device(device).pinned_memory(device != device_);
    return std::pair{at::empty({rows, l.tokens, l.width}, options.dtype(l.type)),
                     l.with_class_token ? at::empty({rows, l.width}, options.dtype(l.class_type()))
                                        : at::Tensor()};
  };
  std::tie(tokens_, class_tokens_) = make(device_);
  if (gpu_gathers()) {
    if (stays_in_bank()) tokens_ = at::Tensor();
    rows_ = at::empty({rows}, at::device(device_).dtype(at::kLong));
    return;
  }
  for (Gathered& gathered : gathered_) {
    std::tie(gathered.tokens, gathered.class_tokens) =
        device_.is_cpu() ? std::pair{tokens_, class_tokens_} : make(at::kCPU);
  }
}

void BankViews::draw_rows(std::size_t step, std::int64_t* slots, std::int64_t* images) const {
  const std::size_t batch = sampler_.rows();
  for (std::size_t i = 0; i < batch; ++i) {
    const std::uint64_t position = sampler_.position(step, i);
    const auto [one, other] = draw_two_views(seed_, epoch_, position, bank_->layout().views);
    slots[i] = one;
    images[i] = static_cast<std::int64_t>(sampler_.draw_image(epoch_, position));
    if (images_.size() == batch) continue;
    slots[batch + i] = other;
    images[batch + i] = images[i];
  }
}

void BankViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  bank_ = &prepare_(epoch);
  make_buffers();
  epoch_ = epoch;
  step_ = first_step;
  if (!rows_.defined()) return;
  // All at once, so that no step waits for numbers on their way to the device.
  const std::size_t steps = sampler_.batches_per_epoch();
  at::Tensor rows = at::empty(
      {static_cast<std::int64_t>(steps), static_cast<std::int64_t>(images_.size())}, at::kLong);
  for (std::size_t step = first_step; step < steps; ++step) {
    draw_rows(step, slots_.data(), images_.data());
    std::int64_t* out = rows.data_ptr<std::int64_t>() + step * images_.size();
    for (std::size_t i = 0; i < images_.size(); ++i)
      out[i] = slots_[i] * bank_->layout().images + images_[i];
  }
  all_rows_ = rows.to(device_);
}

void BankViews::gather_on_cpu(std::size_t step) {
  const BankStore& store = *bank_;
  const BankLayout& l = store.layout();
  std::vector<const std::byte*> tokens, class_tokens;
  for (std::int64_t view = 0; view < l.views; ++view) {
    tokens.push_back(static_cast<const std::byte*>(store.tokens(view).const_data_ptr()));
    if (l.with_class_token) {
      class_tokens.push_back(
          static_cast<const std::byte*>(store.class_tokens(view).const_data_ptr()));
    }
  }
  draw_rows(step, slots_.data(), images_.data());
  Gathered& gathered = gathered_[step % 2];
  if (gathered.copied) gathered.copied->synchronize();
  auto* to = static_cast<std::byte*>(gathered.tokens.data_ptr());
  auto* class_to =
      l.with_class_token ? static_cast<std::byte*>(gathered.class_tokens.data_ptr()) : nullptr;
  const std::uint64_t bytes = l.token_row_bytes(), class_bytes = l.class_row_bytes();
  at::parallel_for(
      0, static_cast<std::int64_t>(images_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const auto slot = static_cast<std::size_t>(slots_[i]);
          const auto image = static_cast<std::uint64_t>(images_[i]);
          std::memcpy(to + i * bytes, tokens[slot] + image * bytes, bytes);
          if (class_to == nullptr) continue;
          std::memcpy(class_to + i * class_bytes, class_tokens[slot] + image * class_bytes,
                      class_bytes);
        }
      });
  if (step + 1 < sampler_.batches_per_epoch()) {
    draw_rows(step + 1, slots_.data(), images_.data());
    for (std::size_t i = 0; i < images_.size(); ++i) store.expect(slots_[i], images_[i]);
  }
}

void BankViews::advance() {
  if (step_ >= sampler_.batches_per_epoch())
    throw InternalError("BankViews: no step left in this epoch");
  const std::size_t step = step_++;
  if (rows_.defined()) {
    rows_.copy_(all_rows_[static_cast<std::int64_t>(step)]);
    return;
  }
  gather_on_cpu(step);
  if (device_.is_cpu()) return;
  Gathered& gathered = gathered_[step % 2];
  tokens_.copy_(gathered.tokens, /*non_blocking=*/true);
  if (class_tokens_.defined()) class_tokens_.copy_(gathered.class_tokens, /*non_blocking=*/true);
  if (!gathered.copied) gathered.copied.emplace(device_.type());
  gathered.copied->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

TrunkTokens BankViews::tokens() {
  const at::NoGradGuard no_grad;
#ifdef PROTOGCD_WITH_CUDA
  if (rows_.defined()) {
    const BankLayout& l = bank_->layout();
    const at::Tensor all = bank_->all_tokens();
    if (class_tokens_.defined()) {
      gather_rows_on_cuda(bank_->all_class_tokens().const_data_ptr(), l.class_row_bytes(), rows_,
                          class_tokens_);
    }
    if (stays_in_bank()) return {all.view({-1, l.tokens, l.width}), class_tokens_, {}, rows_};
    gather_rows_on_cuda(all.const_data_ptr(), l.token_row_bytes(), rows_, tokens_);
  }
#endif
  if (class_tokens_.defined()) return {tokens_, class_tokens_, {}};
  return {{}, {}, tokens_};
}

}  // namespace protogcd
