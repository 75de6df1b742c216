#include "protogcd/methods/sinkhorn.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace protogcd {

at::Tensor sinkhorn(const at::Tensor& scores, const at::Tensor& part,
                    const SinkhornOptions& options, Communicator& communicator) {
  const at::NoGradGuard no_grad;
  constexpr double kTiny = 1e-300;  // no row takes part: 0 / tiny; in float32 rows would vanish
  // A row's factor is taken out again by the first division of rows, not by that of columns: all
  // rows lose the same, their highest possible score of 1.
  at::Tensor shares =
      ((scores.to(at::kDouble) - 1) / options.epsilon).exp() * part.unsqueeze(1).to(at::kDouble);
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    at::Tensor columns = shares.sum(0, /*keepdim=*/true);
    communicator.all_reduce(columns);
    shares = shares / columns.clamp_min(kTiny);
    shares = shares / shares.sum(1, /*keepdim=*/true).clamp_min(kTiny);
  }
  return shares.to(scores.scalar_type());
}

}  // namespace protogcd
