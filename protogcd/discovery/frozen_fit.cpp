#include "protogcd/discovery/frozen_fit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <map>

namespace protogcd {
namespace {

constexpr std::int64_t kNeighbours = 5, kMostAsked = 4000, kAskedAtOnce = 256;

}  // namespace

double frozen_accuracy(const at::Tensor& features, const at::Tensor& labels) {
  const std::int64_t count = features.size(0);
  const at::Tensor classes = labels.to(at::kCPU, at::kLong).contiguous();
  const auto* label = classes.const_data_ptr<std::int64_t>();
  std::map<std::int64_t, std::int64_t> sizes;
  for (std::int64_t i = 0; i < count; ++i) ++sizes[label[i]];
  if (sizes.size() < 2) return std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> asked;
  const std::int64_t step = (count + kMostAsked - 1) / kMostAsked;
  for (std::int64_t i = 0; i < count; i += step)
    if (sizes[label[i]] > kNeighbours / 2 + 1) asked.push_back(i);  // enough others to outvote
  if (asked.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::int64_t right = 0;
  for (std::size_t first = 0; first < asked.size(); first += kAskedAtOnce) {
    const std::size_t end = std::min(asked.size(), first + kAskedAtOnce);
    const at::Tensor rows =
        at::tensor(at::ArrayRef<std::int64_t>(asked.data() + first, end - first));
    at::Tensor cosines =
        at::matmul(features.index_select(0, rows.to(features.device())), features.t())
            .to(at::kCPU, at::kFloat);
    cosines.scatter_(1, rows.unsqueeze(1), -2.0);  // not itself
    const at::Tensor nearest =
        std::get<1>(cosines.topk(std::min(kNeighbours, count - 1), 1)).contiguous();
    const auto near = nearest.accessor<std::int64_t, 2>();
    for (std::size_t i = first; i < end; ++i) {
      std::map<std::int64_t, double> votes;
      for (std::int64_t n = 0; n < nearest.size(1); ++n)
        votes[label[near[static_cast<std::int64_t>(i - first)][n]]] +=
            1 - 0.01 * static_cast<double>(n);
      const auto most =
          std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
      right += most->first == label[asked[i]] ? 1 : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(asked.size());
}

}  // namespace protogcd
