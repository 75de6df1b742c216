#include "protogcd/training/set_features.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace protogcd {

std::int64_t MaterialFeatures::count(SampleSet set) const {
  std::size_t count = material_.set().count(set);
  if (plan_.split && set == SampleSet::kLabelled) count = plan_.split->kept.size();
  if (plan_.split && set == SampleSet::kUnlabelled) count += plan_.split->hidden.size();
  return static_cast<std::int64_t>(count);
}

at::Tensor MaterialFeatures::labels() const {
  if (!plan_.split) return labelled_classes(material_.set());
  return at::tensor(at::ArrayRef<std::int32_t>(plan_.split->labels), at::kLong);
}

void MaterialFeatures::for_each(SampleSet set, const std::function<void(const at::Tensor&)>& use) {
  if (plan_.split && set == SampleSet::kLabelled) return for_each_at(plan_.split->kept, use);
  if (plan_.split && set == SampleSet::kUnlabelled) for_each_at(plan_.split->hidden, use);
  for_each_of(set, use);
}

void MaterialFeatures::for_each_of(SampleSet set,
                                   const std::function<void(const at::Tensor&)>& use) {
  const at::NoGradGuard no_grad;
  material_.for_each_rows(
      set, context_, [&](const TrunkTokens& tokens) { return blocks_.forward(tokens); }, use);
}

void MaterialFeatures::for_each_at(const std::vector<std::uint32_t>& places,
                                   const std::function<void(const at::Tensor&)>& use) {
  std::size_t first = 0;
  auto next = places.begin();
  for_each_of(SampleSet::kLabelled, [&](const at::Tensor& features) {
    const std::size_t end = first + static_cast<std::size_t>(features.size(0));
    std::vector<std::int64_t> rows;
    for (; next != places.end() && *next < end; ++next)
      rows.push_back(static_cast<std::int64_t>(*next - first));
    first = end;
    if (!rows.empty())
      use(features.index_select(
          0, at::tensor(at::ArrayRef<std::int64_t>(rows)).to(features.device())));
  });
}

}  // namespace protogcd
