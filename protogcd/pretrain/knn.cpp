#include "protogcd/pretrain/knn.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <limits>

namespace protogcd {

double knn_accuracy(const at::Tensor& features, const at::Tensor& labels, std::int64_t k) {
  constexpr double kTemperature = 0.07;
  constexpr std::int64_t kRowsAtOnce = 1024;
  const at::NoGradGuard no_grad;
  const std::int64_t count = features.size(0);
  const std::int64_t neighbours = std::min(k, count - 1);
  if (neighbours < 1) return 0;
  const at::Tensor units = features / features.norm(2, 1, /*keepdim=*/true).clamp_min(1e-12);
  const std::int64_t classes = labels.max().item<std::int64_t>() + 1;
  at::Tensor right = at::zeros({}, labels.options());
  for (std::int64_t first = 0; first < count; first += kRowsAtOnce) {
    const std::int64_t rows = std::min(kRowsAtOnce, count - first);
    at::Tensor cosines = at::matmul(units.narrow(0, first, rows), units.t());  // [rows, N]
    cosines.diagonal(first).fill_(-std::numeric_limits<double>::infinity());
    const auto [nearest, who] = cosines.topk(neighbours, 1);
    const at::Tensor votes =
        at::zeros({rows, classes}, units.options())
            .scatter_add_(1, labels.index_select(0, who.flatten()).view_as(who),
                          at::exp(nearest / kTemperature));
    right += (votes.argmax(1) == labels.narrow(0, first, rows)).sum();
  }
  return static_cast<double>(right.item<std::int64_t>()) / static_cast<double>(count);
}

}  // namespace protogcd
