#include "protogcd/cluster/silhouette.h"

#include <ATen/ATen.h>

#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

at::Tensor drawn_rows(std::int64_t count, std::int64_t most, std::uint64_t seed) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  RandomStream random({.seed = seed, .purpose = RandomPurpose::kShuffle});
  shuffle(std::span(rows), random);
  return at::tensor(at::ArrayRef<std::int64_t>(rows.data(), static_cast<std::size_t>(most)));
}

}  // namespace

Silhouette::Silhouette(const at::Tensor& features, std::int64_t most_rows, std::uint64_t seed) {
  at::Tensor rows = features;
  if (features.size(0) > most_rows) {
    rows_ = drawn_rows(features.size(0), most_rows, seed).to(features.device());
    rows = features.index_select(0, rows_);
  }
  distances_ = at::cdist(rows, rows);
  distances_.fill_diagonal_(0);  // a row is at distance 0 from itself, whatever rounding says
}

double Silhouette::operator()(const at::Tensor& labels) const {
  const at::Tensor there = labels.to(distances_.device());
  const at::Tensor own = (rows_.defined() ? there.index_select(0, rows_) : there).unsqueeze(1);
  const at::Tensor members = at::one_hot(own.squeeze(1)).to(distances_.scalar_type());  // [n, K]
  const at::Tensor sizes = members.sum(0);                                              // [K]
  if ((sizes > 0).sum().item<std::int64_t>() < 2) return 0;

  const at::Tensor sums = at::mm(distances_, members);                             // [n, K]
  const at::Tensor own_size = sizes.index_select(0, own.squeeze(1)).unsqueeze(1);  // [n, 1]
  const at::Tensor inner = sums.gather(1, own) / (own_size - 1).clamp_min(1);
  const at::Tensor outer = (sums / sizes)  // an empty cluster: 0 / 0, never the nearest
                               .nan_to_num(std::numeric_limits<float>::infinity())
                               .scatter(1, own, std::numeric_limits<float>::infinity())
                               .amin(1, /*keepdim=*/true);
  const at::Tensor larger = at::maximum(inner, outer);
  const at::Tensor scores = at::where((own_size > 1).logical_and(larger > 0),
                                      (outer - inner) / larger, at::zeros_like(inner));
  return scores.mean(at::kDouble).item<double>();
}

}  // namespace protogcd
