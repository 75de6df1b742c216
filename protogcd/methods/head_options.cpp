#include "protogcd/methods/head_options.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

namespace protogcd {
namespace {

constexpr std::int64_t kReferenceHidden = 2048;
/// With the built-in backbone a narrow projection is faster and costs half a point
/// (docs/builtin-backbone.md).
constexpr std::int64_t kBuiltinHidden = 512;

}  // namespace

void HeadOptions::declare(OptionTable& table) {
  table
      .add("head_hidden", &hidden,
           "width of the projection's inner layers; 2048, or 512 on the built-in backbone, if not "
           "given")
      .at_least(1);
  table.add("projection", &projection, "numbers that the projection gives").at_least(1);
}

std::vector<std::string> HeadOptions::resolve(const MethodFacts& facts) {
  if (hidden) return {};
  hidden = facts.has_builtin_backbone ? kBuiltinHidden : kReferenceHidden;
  if (!facts.has_builtin_backbone) return {};
  return {fmt::format("head_hidden {}: on the built-in backbone", *hidden)};
}

PublishedSetting HeadOptions::published() const {
  return {"head_hidden", std::to_string(kReferenceHidden)};
}

HeadShape HeadOptions::shape(const MethodInput& input, std::int64_t wide_projection) const {
  return {.width = input.width,
          .classes = input.k(),
          .hidden = hidden.value_or(kReferenceHidden),
          .projection = projection,
          .wide_projection = wide_projection};
}

Head HeadOptions::make(const MethodInput& input, std::int64_t wide_projection) const {
  return {shape(input, wide_projection), input.seed, input.type, input.device};
}

Head HeadOptions::make_classifier(const MethodInput& input) {
  const HeadShape shape{.width = input.width, .classes = input.k(), .projection = 0};
  return {shape, input.seed, input.type, input.device};
}

Projection HeadOptions::make_projection(const MethodInput& input, std::int64_t wide_projection,
                                        std::int64_t stacked) const {
  HeadShape of_projection = shape(input, wide_projection);
  of_projection.stacked = stacked;
  return {of_projection, input.seed, input.type, input.device};
}

void point_at(const at::Tensor& prototypes, const at::Tensor& directions) {
  const at::NoGradGuard no_grad;
  const at::Tensor there = unit_rows(directions).to(prototypes.device(), prototypes.scalar_type());
  const at::Tensor is_empty = there.eq(0).all(1, /*keepdim=*/true);  // stays where it is
  prototypes.copy_(at::where(is_empty, prototypes, there * prototypes.norm(2, 1).mean()));
}

}  // namespace protogcd
