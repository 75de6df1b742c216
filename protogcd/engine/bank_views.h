// Training's views out of a token bank: no pixels and no trunk, only rows to be gathered.
#pragma once

#include <c10/core/Event.h>

#include <functional>
#include <optional>

#include "protogcd/engine/token_bank.h"
#include "protogcd/engine/view_source.h"

namespace protogcd {

/// The two slots that a draw takes: distinct, each pair as likely as any other. They depend on
/// (seed, epoch, position) alone.
std::pair<std::int64_t, std::int64_t> draw_two_views(std::uint64_t seed, std::uint32_t epoch,
                                                     std::uint64_t position, std::int64_t views);

class BankViews : public ViewSource {
 public:
  /// Hands out the bank as it is to be in this epoch.
  using Prepare = std::function<const BankStore&(std::uint32_t epoch)>;

  /// All references must outlive it. Tokens are handed out on `device`, of one or two views of each
  /// image; one is the first of the two.
  BankViews(Prepare prepare, const Sampler& sampler, std::uint64_t seed, at::Device device,
            std::size_t views = 2);
  BankViews(TokenBank& bank, const Sampler& sampler, std::uint64_t seed, at::Device device,
            std::size_t views = 2);

  /// Computes what the bank misses for this epoch.
  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  void advance() override;
  /// They lie in buffers that the next step fills again, or in the bank itself.
  TrunkTokens tokens() override;

 private:
  /// The GPU takes rows by itself: from its own memory, or from the host's pinned memory.
  bool gpu_gathers() const;
  /// The tail reads the tokens where they lie; nothing but CLS tokens is gathered.
  bool stays_in_bank() const;
  void make_buffers();
  void draw_rows(std::size_t step, std::int64_t* slots, std::int64_t* images) const;
  void gather_on_cpu(std::size_t step);

  /// Where rows are put together on the CPU: [V B, T, D] and [V B, D].
  struct Gathered {
    at::Tensor tokens, class_tokens;
    std::optional<c10::Event> copied = {};  ///< when a GPU has taken them
  };

  Prepare prepare_;
  const BankStore* bank_ = nullptr;
  const Sampler& sampler_;
  std::uint64_t seed_;
  at::Device device_;
  std::uint32_t epoch_ = 0;
  std::size_t step_ = 0;
  std::vector<std::int64_t> slots_, images_;  ///< [V B] of a step
  at::Tensor all_rows_;                       ///< [steps, 2B] int64 on the GPU that gathers
  at::Tensor rows_;                           ///< [V B], of the step at hand
  at::Tensor tokens_, class_tokens_;          ///< [V B, T, D] and [V B, D] on the device
  Gathered gathered_[2];                      ///< the CPU fills one while a GPU takes the other
};

}  // namespace protogcd
