// Which image each draw of an epoch takes: the reference's weighted sampling with replacement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace protogcd {

/// Draws samples 0..labelled-1 (labelled) and labelled..labelled+unlabelled-1 (unlabelled) with
/// weight 1 and |Dl|/|Du| each: a draw is labelled with probability 1/2, uniform within its set, as
/// many draws an epoch as there are samples, with replacement. With one set empty, all draws are
/// from the other. A draw depends on (seed, epoch, position) alone.
class Sampler {
 public:
  static constexpr std::size_t kReferenceBatch = 128;

  /// A batch is at most as large as the set. DataError if there is nothing to draw from.
  Sampler(std::size_t labelled, std::size_t unlabelled, std::uint64_t seed,
          std::size_t batch_size = kReferenceBatch);

  /// Draws from some of the samples alone, in the same way, and `batches` times an epoch: a further
  /// stream beside another sampler's. A batch may be larger than what it is drawn from.
  Sampler(std::size_t labelled, std::vector<std::uint32_t> among, std::uint64_t seed,
          std::size_t batch_size, std::size_t batches);

  /// Of all processes together.
  std::size_t batch_size() const { return batch_size_; }
  /// As many draws an epoch as there are samples; the last partial batch is dropped.
  std::size_t batches_per_epoch() const { return batches_; }
  std::size_t draw(std::uint32_t epoch, std::uint64_t position) const;

  /// Of each batch this process has the part `rank` of `size`. UsageError where a batch cannot be
  /// divided by `size`. What is drawn does not depend on it.
  void share(std::size_t rank, std::size_t size);
  /// Of a batch, those of this process.
  std::size_t rows() const { return rows_; }
  /// Where row `row` of this process's part of step `step` stands in the epoch.
  std::uint64_t position(std::size_t step, std::size_t row) const {
    return step * batch_size_ + first_row_ + row;
  }
  /// The samples of all draws of an epoch that begins, decided by somebody else; empty: by chance.
  void set_draws(std::vector<std::uint32_t> samples) { draws_ = std::move(samples); }
  bool is_labelled(std::size_t sample) const { return sample < labelled_; }

  /// The same draws of images in another order: sample i is image `images[i]`. Empty: they are the
  /// same.
  void set_images(std::vector<std::uint32_t> images) { images_ = std::move(images); }
  std::size_t image(std::size_t sample) const { return images_.empty() ? sample : images_[sample]; }
  std::size_t draw_image(std::uint32_t epoch, std::uint64_t position) const {
    return image(draw(epoch, position));
  }

 private:
  std::size_t labelled_;                           ///< of all samples
  std::size_t labelled_drawn_, unlabelled_drawn_;  ///< those that are drawn from
  std::vector<std::uint32_t> among_;               ///< labelled ones first; empty: all
  std::vector<std::uint32_t> images_;
  std::vector<std::uint32_t> draws_;  ///< of the epoch; empty: by chance
  std::uint64_t seed_;
  std::size_t batch_size_, batches_;
  std::size_t first_row_ = 0, rows_ = batch_size_;
};

}  // namespace protogcd
