// ProtoGCD (Ma et al., TPAMI 2025): joint prototypes of old and new classes, pseudo-labels that
// turn from soft to hard, and regularisers against predictions that shrink to few classes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/method_options.h"
#include "protogcd/methods/protogcd/objective.h"
#include "protogcd/methods/protogcd/ramp.h"

namespace protogcd {

/// kReference: as the released code computes; kPaper: as the equations say (docs/method.md).
enum class ProtoGcdPreset { kReference, kPaper };
/// Eq. 10 ranks all unlabelled images once an epoch; the released code ranks each batch.
enum class HardScope { kBatch, kSet };

struct ProtoGcdOptions : MethodOptions {
  ProtoGcdPreset preset = ProtoGcdPreset::kReference;
  ObjectiveOptions objective;
  HardLabels hard_labels = HardLabels::kRamp;
  HeadOptions head;
  std::filesystem::path prior;  ///< class,share; empty: uniform

  // Nothing: as the preset says; `resolve` gives them values.
  std::optional<double> tau_unsup_con, confidence_floor;
  std::optional<bool> scale_regularisers, ramp_as_published;
  std::optional<HardScope> hard_scope;
  std::optional<std::int64_t> wide_projection;
  std::optional<std::int64_t> ramp_epochs;  ///< nothing: half of the epochs

  std::string name() const override { return "protogcd"; }
  std::unique_ptr<MethodOptions> copy() const override;
  void declare(OptionTable& table) override;
  std::vector<std::string> resolve(const MethodFacts& facts) override;
  void become_candidate(std::optional<std::int64_t> epochs) override;
  void check_unknown_classes() const override;
  std::map<std::string, std::string> identity() const override;
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

std::unique_ptr<MethodOptions> protogcd_options();

/// Shares of the classes from a `class,share` file: those it does not name share the rest evenly.
/// DataError names file and line.
std::vector<double> read_prior(const std::filesystem::path& file,
                               const std::vector<std::string>& classes);

}  // namespace protogcd
