#include "protogcd/methods/registry.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {

// One line a method: the function that its source file defines, and what it is in a few words. The
// first is the default.
// clang-format off
#define PROTOGCD_METHODS(METHOD) \
  METHOD(protogcd_options, "joint prototypes, soft and hard pseudo-labels (Ma et al., TPAMI 2025)") \
  METHOD(simgcd_options, "a classifier that teaches itself, entropy of its mean (Wen et al., ICCV 2023)") \
  METHOD(mugcd_options, "GCD's features, then a classifier taught by an average of itself (Vaze et al., NeurIPS 2023)") \
  METHOD(protogcd_plus_options, "ProtoGCD on GCD's features, taught by an average of itself (Ma et al., TPAMI 2025)") \
  METHOD(gcd_options, "contrasted views and labels, then semi-supervised k-means (Vaze et al., CVPR 2022)") \
  METHOD(xcon_options, "GCD's contrast, also within groups of like images (Fei et al., BMVC 2022)") \
  METHOD(dccl_options, "GCD's contrast, and communities of nearest images (Pu et al., CVPR 2023)") \
  METHOD(gpc_options, "GCD's contrast, and prototypes that are split and merged (Zhao et al., ICCV 2023)") \
  METHOD(orca_options, "pairs of nearest images, and a margin by uncertainty (Cao et al., ICLR 2022)") \
  METHOD(uno_options, "labels and evenly shared pseudo-labels by one cross-entropy: UNO+ (Fini et al., ICCV 2021)") \
  METHOD(rankstats_options, "pairs whose largest features are the same: RankStats+ (Han et al., ICLR 2020)") \
  METHOD(kmeans_options, "clusters of the backbone's own features, without any training (Vaze et al., CVPR 2022)") \
  /* the next one */
// clang-format on

#define PROTOGCD_DECLARE(options, summary) std::unique_ptr<MethodOptions> options();
PROTOGCD_METHODS(PROTOGCD_DECLARE)
#undef PROTOGCD_DECLARE

const std::vector<RegisteredMethod>& registered_methods() {
#define PROTOGCD_ROW(options, summary) {options()->name(), summary, options},
  static const std::vector<RegisteredMethod> methods = {PROTOGCD_METHODS(PROTOGCD_ROW)};
#undef PROTOGCD_ROW
  return methods;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const RegisteredMethod& method : registered_methods()) names.push_back(method.name);
  return names;
}

std::vector<std::string> trained_method_names() {
  std::vector<std::string> names;
  for (const RegisteredMethod& method : registered_methods())
    if (method.options()->trains()) names.push_back(method.name);
  return names;
}

MethodChoice find_method(std::string_view name) {
  const auto& all = registered_methods();
  const auto found = std::ranges::find(all, name, &RegisteredMethod::name);
  if (found == all.end()) {
    const auto names = method_names();
    throw UsageError(fmt::format("{}: there is no method '{}'{}", option_name("method"), name,
                                 did_you_mean(name, names)),
                     fmt::format("known methods: {}", join(names, ", ")));
  }
  return MethodChoice(found->options());
}

MethodChoice::MethodChoice() : options_(registered_methods().front().options()) {}

std::vector<std::string> methods_with_option(std::string_view key) {
  std::vector<std::string> owners;
  for (const RegisteredMethod& method : registered_methods()) {
    OptionTable table;
    const auto options = method.options();
    options->declare(table);
    if (table.find(key) != nullptr) owners.push_back(method.name);
  }
  return owners;
}

}  // namespace protogcd
