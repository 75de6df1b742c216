#include "protogcd/pretrain/network.h"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>

#include "protogcd/core/random.h"
#include "protogcd/nn/autocast.h"

namespace protogcd {

StateDict initial_vit_state(const VitConfig& config, std::uint64_t seed) {
  StateDict state{.origin = "initial weights", .tensors = {}};
  std::uint64_t position = 0;
  for (const auto& [name, shape] : vit_tensors(config)) {
    RandomStream random(
        {.seed = seed, .purpose = RandomPurpose::kInitialise, .position = position++});
    at::Tensor tensor = at::zeros(shape, at::kFloat);
    if (shape.size() == 1) {
      if (!name.ends_with("bias")) tensor.fill_(1);
    } else {
      const double deviation =
          shape.size() == 4 ? 1 / std::sqrt(static_cast<double>(tensor[0].numel())) : 0.02;
      auto* values = tensor.data_ptr<float>();
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        values[i] = static_cast<float>(deviation * random.normal());
    }
    state.tensors[name] = tensor;
  }
  return state;
}

PretrainNetwork::PretrainNetwork(const VitConfig& config, const Placement& placement,
                                 double drop_path, std::uint64_t seed)
    : placement_(placement),
      drop_path_(drop_path),
      vit_(config, initial_vit_state(config, seed), placement.trained, placement.device) {
  std::vector<double> rates;
  for (std::int64_t i = 0; i < 2 * config.depth; ++i) rates.push_back(drop_rate(i / 2));
  rates_ = at::tensor(rates, at::kDouble).to(placement.device, at::kFloat);
}

double PretrainNetwork::drop_rate(std::int64_t i) const {
  const std::int64_t last = vit_.config().depth - 1;
  return last == 0 ? drop_path_ : drop_path_ * static_cast<double>(i) / static_cast<double>(last);
}

at::Tensor PretrainNetwork::dropped(const at::Tensor& branch, const at::Tensor& factors,
                                    std::int64_t i) const {
  if (!factors.defined()) return branch;
  return branch * factors.select(1, i).view({-1, 1, 1}).to(branch.scalar_type());
}

at::Tensor PretrainNetwork::features(const at::Tensor& images, const at::Tensor& numbers) const {
  std::optional<Autocast> autocast;
  if (placement_.frozen != placement_.trained)
    autocast.emplace(placement_.device.type(), placement_.frozen);
  at::Tensor factors;  // [B, 2 * depth]: 0, or what makes up for the zeros
  if (drop_path_ > 0 && numbers.defined())
    factors = (numbers >= rates_).to(at::kFloat) / (1 - rates_);
  at::Tensor x = vit_.embed(images);  // [B, T, D]
  for (std::int64_t i = 0; i < vit_.config().depth; ++i) {
    x = x + dropped(vit_.attention_branch(i, x), factors, 2 * i);
    x = x + dropped(vit_.mlp_branch(i, x), factors, 2 * i + 1);
  }
  return vit_.final_norm(x.select(1, 0)).to(placement_.trained);
}

}  // namespace protogcd
