// Views that several trainings see alike: the first to come to a step computes their tokens, the
// others take them from memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "protogcd/engine/view_source.h"

namespace protogcd {

/// Tokens of steps, as many as there is room for. Not for several threads at once.
class KeptTokens {
 public:
  explicit KeptTokens(std::uint64_t max_bytes) : left_(max_bytes) {}

  /// Of the draws that a seed makes; null where they were not kept.
  const TrunkTokens* find(std::uint64_t seed, std::uint32_t epoch, std::size_t step) const;
  /// Does nothing where the room is too small.
  void keep(std::uint64_t seed, std::uint32_t epoch, std::size_t step, const TrunkTokens& tokens);

 private:
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::size_t>, TrunkTokens> steps_;
  std::uint64_t left_;
};

/// On a CPU alone: each step's tokens lie where they were kept.
class KeptViews : public ViewSource {
 public:
  /// All that share `kept` must draw alike for the same seed.
  KeptViews(std::unique_ptr<ViewSource> views, std::shared_ptr<KeptTokens> kept,
            std::uint64_t seed);

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  void advance() override;
  TrunkTokens tokens() override { return current_; }

 private:
  std::unique_ptr<ViewSource> views_;
  std::shared_ptr<KeptTokens> kept_;
  std::uint64_t seed_;
  std::uint32_t epoch_ = 0;
  std::size_t next_ = 0;     ///< step of the epoch
  bool is_reading_ = false;  ///< whether `views_` stands at that step
  TrunkTokens current_;
};

}  // namespace protogcd
