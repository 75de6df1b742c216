#include "protogcd/methods/concepts.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// The `count` nearest others of each row, the nearest first: cosines and rows, [N, count] on the
/// CPU.
std::pair<at::Tensor, at::Tensor> nearest_others(const at::Tensor& rows, std::int64_t count,
                                                 const StopToken& stop) {
  constexpr std::int64_t kAtOnce = 1024;
  constexpr double kNotItself = -2;
  std::vector<at::Tensor> cosines, others;
  for (std::int64_t first = 0; first < rows.size(0); first += kAtOnce) {
    if (stop.stop_requested())
      throw InterruptedError("stopped while nearest images were looked for");
    const at::Tensor some = rows.slice(0, first, first + kAtOnce);
    at::Tensor near = at::matmul(some, rows.t());
    near.diagonal(first).fill_(kNotItself);
    const auto [values, places] = near.topk(count, 1);
    cosines.push_back(values.to(at::kCPU, at::kDouble));
    others.push_back(places.cpu());
  }
  return {at::cat(cosines), at::cat(others)};
}

}  // namespace

std::vector<WeightedLink> concept_links(const at::Tensor& rows, const at::Tensor& labels,
                                        const ConceptOptions& options, const StopToken& stop) {
  const std::int64_t images = rows.size(0), count = std::min(options.neighbours, images) - 1;
  if (count < 1) return {};
  const auto [cosines, others] = nearest_others(rows, count, stop);
  const auto near = cosines.accessor<double, 2>();
  const auto place = others.accessor<std::int64_t, 2>();
  const at::Tensor own = labels.to(at::kCPU, at::kLong).contiguous();
  const auto* label = own.const_data_ptr<std::int64_t>();
  std::vector<WeightedLink> links;
  for (std::int64_t i = 0; i < images; ++i) {
    for (std::int64_t n = 0; n < count && near[i][n] >= options.least_cosine; ++n) {
      const std::int64_t asked = options.label_by_rank ? n + 1 : place[i][n];
      const bool is_same = label[i] >= 0 && label[i] == label[asked];
      links.push_back({.from = static_cast<std::uint32_t>(i),
                       .to = static_cast<std::uint32_t>(place[i][n]),
                       .weight = is_same ? std::min(near[i][0], 1.0) : near[i][n]});
    }
  }
  return links;
}

Concepts find_concepts(const at::Tensor& rows, const at::Tensor& labels,
                       const ConceptOptions& options, const StopToken& stop) {
  const auto nodes = static_cast<std::size_t>(rows.size(0));
  const MapModules found =
      map_modules(nodes, concept_links(rows, labels, options, stop), options.map, stop);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(found.count), 0);
  for (const std::int32_t module : found.module)
    if (module >= 0) ++sizes[static_cast<std::size_t>(module)];
  Concepts result{.of_image = std::vector<std::int32_t>(nodes, -1)};
  std::vector<std::int32_t> number(sizes.size(), -1);
  for (std::size_t m = 0; m < sizes.size(); ++m)
    if (sizes[m] >= options.least_images) number[m] = result.count++;
  for (std::size_t i = 0; i < nodes; ++i)
    if (found.module[i] >= 0)
      result.of_image[i] = number[static_cast<std::size_t>(found.module[i])];
  return result;
}

}  // namespace protogcd
