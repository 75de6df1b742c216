#include <ATen/ATen.h>

#include <algorithm>

#include "protogcd/cluster/nearest_centroids.h"

namespace protogcd {
namespace {

/// Rows at a time: scores of a block stay in the cache of a CPU, and fill a GPU.
std::int64_t block_of(const Points& points) {
  return points.rows().is_cpu() ? 2048 : 65536;
}

class TensorNearestCentroids : public NearestCentroids {
 public:
  TensorNearestCentroids(const Points& points, std::int64_t k, const at::Tensor& fixed)
      : NearestCentroids(points, k, fixed),
        labels_(at::full({points.size()}, -1, points.rows().options().dtype(at::kLong))) {}

  std::int64_t assign(const at::Tensor& centroids) override {
    return assign_by(centroids, [](const at::Tensor& scores, std::int64_t) { return scores; });
  }

  std::int64_t assign_eagerly(const at::Tensor& centroids,
                              const std::vector<std::int64_t>& all_sizes) override {
    const at::Tensor sizes =
        at::tensor(at::ArrayRef<std::int64_t>(all_sizes)).to(labels_.device());  // [K]
    return assign_by(centroids, [&](const at::Tensor& scores, std::int64_t begin) {
      const at::Tensor own = labels_.narrow(0, begin, scores.size(0));
      const at::Tensor mine = own.unsqueeze(1);  // [B, 1]
      const at::Tensor distances = points_.squared_norms().narrow(0, begin, scores.size(0)) -
                                   2 * scores.gather(1, mine).squeeze(1);
      const at::Tensor fellows = sizes.index_select(0, own);  // [B], itself among them
      const at::Tensor less = at::where(fellows > 1, distances.clamp_min(0) / fellows, 0);
      return scores.scatter_add_(1, mine, -less.unsqueeze(1));
    });
  }

  /// Sums as products with rows of zeros and ones: the same on every run, on a GPU too.
  at::Tensor means(const at::Tensor& centroids) const override {
    at::Tensor sums = at::zeros(centroids.sizes(), centroids.options().dtype(at::kDouble));
    for_blocks([&](std::int64_t begin, std::int64_t count) {
      const at::Tensor member =
          at::one_hot(labels_.narrow(0, begin, count), k_).to(centroids.scalar_type());  // [B, K]
      sums += at::mm(member.t(), points_.rows().narrow(0, begin, count));
    });
    const at::Tensor sizes = at::bincount(labels_, {}, k_).unsqueeze(1);  // [K, 1]
    return at::where(sizes > 0, sums / sizes.clamp_min(1), centroids.to(at::kDouble))
        .to(centroids.scalar_type());
  }

  at::Tensor labels() const override { return labels_; }

  std::vector<std::int64_t> counts() const override {
    const at::Tensor sizes = at::bincount(labels_, {}, k_).cpu();
    return {sizes.const_data_ptr<std::int64_t>(), sizes.const_data_ptr<std::int64_t>() + k_};
  }

 private:
  /// `change` may alter the scores [B, K] of the rows that begin at some number.
  template <class Change>
  std::int64_t assign_by(const at::Tensor& centroids, const Change& change) {
    const at::Tensor bias = centroids.square().sum(1).mul_(-0.5);  // [K]
    const at::Tensor columns = centroids.t();
    std::vector<at::Tensor> parts;
    for_blocks([&](std::int64_t begin, std::int64_t count) {
      const at::Tensor rows = points_.rows().narrow(0, begin, count);
      parts.push_back(change(at::addmm(bias, rows, columns), begin).argmax(1));  // [B, K] -> [B]
    });
    at::Tensor labels = at::cat(parts);
    if (fixed_.defined()) labels = at::where(fixed_ >= 0, fixed_, labels);
    const auto changed = (labels != labels_).sum().item<std::int64_t>();
    labels_ = labels;
    return changed;
  }

  template <class Function>
  void for_blocks(const Function& function) const {
    const std::int64_t block = block_of(points_);
    for (std::int64_t begin = 0; begin < points_.size(); begin += block)
      function(begin, std::min(block, points_.size() - begin));
  }

  void move(std::int64_t row, std::int64_t, std::int64_t to) override { labels_[row] = to; }

  at::Tensor labels_;
};

}  // namespace

std::unique_ptr<NearestCentroids> make_tensor_nearest_centroids(const Points& points,
                                                                std::int64_t k,
                                                                const at::Tensor& fixed) {
  return std::make_unique<TensorNearestCentroids>(points, k, fixed);
}

}  // namespace protogcd
