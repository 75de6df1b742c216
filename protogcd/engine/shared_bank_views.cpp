#include "protogcd/engine/shared_bank_views.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/data/shard.h"

namespace protogcd {

BankPart BankPart::of(std::size_t rank, std::size_t size, std::size_t images, std::size_t block) {
  const Shard shard{static_cast<std::int64_t>(rank) + 1, static_cast<std::int64_t>(size)};
  const auto [first, end] = shard.range(images, block);
  return {first, end};
}

SharedBankViews::SharedBankViews(BankViews::Prepare prepare, std::size_t images, std::size_t block,
                                 const Sampler& sampler, std::uint64_t seed, at::Device device,
                                 std::size_t views, std::shared_ptr<Communicator> team)
    : prepare_(std::move(prepare)),
      sampler_(sampler),
      seed_(seed),
      device_(device),
      views_(views),
      team_(std::move(team)) {
  const auto size = static_cast<std::size_t>(team_->size());
  for (std::size_t rank = 0; rank < size; ++rank)
    parts_.push_back(BankPart::of(rank, size, images, block));
}

void SharedBankViews::start_epoch(std::uint32_t epoch, std::size_t first_step) {
  bank_ = &prepare_(epoch);
  epoch_ = epoch;
  step_ = first_step;
}

SharedBankViews::Traffic SharedBankViews::traffic_of(std::size_t step) const {
  const std::size_t own = sampler_.rows(), me = static_cast<std::size_t>(team_->rank());
  Traffic traffic;
  traffic.sent.resize(parts_.size());
  std::vector<std::vector<std::int64_t>> places(parts_.size());  // by who sends them
  for (std::size_t to = 0; to < parts_.size(); ++to) {
    for (std::size_t row = 0; row < views_ * own; ++row) {
      const std::uint64_t position = step * sampler_.batch_size() + to * own + row % own;
      const std::size_t image = sampler_.draw_image(epoch_, position);
      const auto from = static_cast<std::size_t>(
          std::ranges::upper_bound(parts_, image, {}, &BankPart::end) - parts_.begin());
      if (to == me) places[from].push_back(static_cast<std::int64_t>(row));
      if (from != me) continue;
      const auto [one, other] = draw_two_views(seed_, epoch_, position, bank_->layout().views);
      traffic.slots.push_back(row < own ? one : other);
      traffic.images.push_back(static_cast<std::int64_t>(image - parts_[me].first));
      ++traffic.sent[to];
    }
  }
  for (const auto& of_process : places) {
    traffic.received.push_back(std::ssize(of_process));
    traffic.places.insert(traffic.places.end(), of_process.begin(), of_process.end());
  }
  return traffic;
}

at::Tensor SharedBankViews::exchange(const Traffic& traffic,
                                     at::Tensor (BankStore::*of_slot)(std::int64_t) const,
                                     const at::Tensor& of_all) const {
  const BankLayout& layout = bank_->layout();
  const at::Tensor first = (bank_->*of_slot)(0);  // [N, ...]
  std::vector<std::int64_t> shape = first.sizes().vec();
  at::Tensor rows;
  if (of_all.defined()) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < traffic.slots.size(); ++i)
      numbers.push_back(traffic.slots[i] * layout.images + traffic.images[i]);
    shape[0] = layout.views * layout.images;
    rows = of_all.view(shape).index_select(0, at::tensor(numbers, at::kLong).to(of_all.device()));
  } else {
    shape[0] = std::ssize(traffic.slots);
    rows = at::empty(shape, first.options());
    for (std::size_t i = 0; i < traffic.slots.size(); ++i)
      rows[static_cast<std::int64_t>(i)].copy_(
          (bank_->*of_slot)(traffic.slots[i])[traffic.images[i]]);
  }
  shape[0] = std::ssize(traffic.places);
  // As bytes: of types, not every transport knows all.
  const at::Tensor come =
      team_->exchange(rows.flatten(1).view(at::kByte), traffic.sent, traffic.received)
          .view(rows.scalar_type())
          .view(shape);
  return at::empty_like(come)
      .index_copy_(0, at::tensor(traffic.places, at::kLong).to(come.device()), come)
      .to(device_);
}

void SharedBankViews::advance() {
  const at::NoGradGuard no_grad;
  if (step_ >= sampler_.batches_per_epoch())
    throw InternalError("SharedBankViews: no step left in this epoch");
  const Traffic traffic = traffic_of(step_++);
  const at::Tensor tokens = exchange(traffic, &BankStore::tokens, bank_->all_tokens());
  if (!bank_->layout().with_class_token) {
    current_ = {{}, {}, tokens};
    return;
  }
  current_ = {tokens, exchange(traffic, &BankStore::class_tokens, bank_->all_class_tokens()), {}};
}

}  // namespace protogcd
