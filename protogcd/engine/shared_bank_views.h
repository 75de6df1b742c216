// Training's views out of a token bank that several processes hold together, each the views of its
// part of the images.
#pragma once

#include <memory>
#include <vector>

#include "protogcd/engine/bank_views.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// The images [first, end) whose views process `rank` of `size` holds: whole blocks of the bank, so
/// that tokens are computed beside the same others however many processes there are.
struct BankPart {
  std::size_t first = 0, end = 0;

  static BankPart of(std::size_t rank, std::size_t size, std::size_t images, std::size_t block);
  std::size_t size() const { return end - first; }
};

/// The views that BankViews hands out of the whole bank. Every process knows what all draw, so that
/// nobody asks: in each step it sends the rows that others draw of its images, and is sent its own.
class SharedBankViews : public ViewSource {
 public:
  /// `prepare` hands out this process's part of the bank; `images`: in all parts together. All
  /// references must outlive it.
  SharedBankViews(BankViews::Prepare prepare, std::size_t images, std::size_t block,
                  const Sampler& sampler, std::uint64_t seed, at::Device device, std::size_t views,
                  std::shared_ptr<Communicator> team);

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  void advance() override;
  TrunkTokens tokens() override { return current_; }

 private:
  /// A step's rows: which of this process's part go where, and which come from whom.
  struct Traffic {
    std::vector<std::int64_t> slots, images;   ///< of the rows that are sent, in order
    std::vector<std::int64_t> sent, received;  ///< how many, by process
    std::vector<std::int64_t> places;          ///< of the rows that come, in order
  };

  Traffic traffic_of(std::size_t step) const;
  /// `of_slot`, `of_all`: rows of one slot, or of all where they are one tensor.
  at::Tensor exchange(const Traffic& traffic, at::Tensor (BankStore::*of_slot)(std::int64_t) const,
                      const at::Tensor& of_all) const;

  BankViews::Prepare prepare_;
  const BankStore* bank_ = nullptr;
  const Sampler& sampler_;
  const std::uint64_t seed_;
  const at::Device device_;
  const std::size_t views_;
  const std::shared_ptr<Communicator> team_;
  std::vector<BankPart> parts_;  ///< by process
  std::uint32_t epoch_ = 0;
  std::size_t step_ = 0;
  TrunkTokens current_;
};

}  // namespace protogcd
