// Borrowed differences: more variety out of few views, at the cost of some vector operations.
//
// What another crop of an image would do to its CLS token is told by what other crops do to the CLS
// tokens of other images. With c1_j, c2_j the CLS tokens of the two views of a step's image j, each
// row's CLS token becomes
//
//   c + s u (c1_j - c2_j),   j uniform among the step's images, u uniform in [-1, 1)
//
// where s is the strength. The other tokens stay. docs/token-bank.md has what it is worth.
#pragma once

#include <memory>

#include "protogcd/engine/view_source.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// tokens of 2B rows, changed (in place, or to new tensors; a bank's own stay as they are): row i
/// borrows the difference of image other[i] times factor[i]. `epsilon` is that of the model's
/// norms. other: [2B] int64, factor: [2B] float. With several processes `other` counts the images
/// of all of them.
void borrow_differences(TrunkTokens& tokens, const at::Tensor& other, const at::Tensor& factor,
                        double epsilon, Communicator* team = nullptr);

/// The views of another source, with borrowed differences. They depend on (seed, epoch, step)
/// alone.
class BorrowedViews : public ViewSource {
 public:
  /// `sampler` must outlive it. `team`: the processes that share its steps; null: one alone.
  BorrowedViews(std::unique_ptr<ViewSource> views, const Sampler& sampler, double strength,
                double epsilon, std::uint64_t seed, at::Device device,
                std::shared_ptr<Communicator> team = nullptr);

  void start_epoch(std::uint32_t epoch, std::size_t first_step) override;
  void advance() override;
  TrunkTokens tokens() override;
  DeviceClock* clock() override { return views_->clock(); }

 private:
  std::unique_ptr<ViewSource> views_;
  const Sampler& sampler_;
  double strength_, epsilon_;
  std::uint64_t seed_;
  at::Device device_;
  const std::shared_ptr<Communicator> team_;
  std::int64_t step_ = 0;
  at::Tensor others_, factors_;  ///< [steps, 2B] on the device
  at::Tensor other_, factor_;    ///< [2B], of the step at hand
};

}  // namespace protogcd
