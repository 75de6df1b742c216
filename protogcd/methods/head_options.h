// The head of prototypes and projection that several methods put on the backbone (nn/head.h).
#pragma once

#include <cstdint>
#include <optional>

#include "protogcd/methods/method_options.h"
#include "protogcd/nn/head.h"

namespace protogcd {

struct HeadOptions {
  std::optional<std::int64_t> hidden = {};  ///< nothing: 2,048; 512 on the built-in backbone
  std::int64_t projection = 256;

  void declare(OptionTable& table);
  std::vector<std::string> resolve(const MethodFacts& facts);
  PublishedSetting published() const;  ///< its width
  Head make(const MethodInput& input, std::int64_t wide_projection = 0) const;
  /// Prototypes without a projection.
  static Head make_classifier(const MethodInput& input);
  Projection make_projection(const MethodInput& input, std::int64_t wide_projection,
                             std::int64_t stacked = 0) const;

 private:
  HeadShape shape(const MethodInput& input, std::int64_t wide_projection) const;
};

/// The parameter of a Head that has a row for each class.
inline constexpr const char* kPrototypes = "prototype_layer.weight_v";

/// Turns each prototype [K, D] towards a direction [K, D], at the mean length they have; a
/// direction of zeros leaves it where it is.
void point_at(const at::Tensor& prototypes, const at::Tensor& directions);

}  // namespace protogcd
