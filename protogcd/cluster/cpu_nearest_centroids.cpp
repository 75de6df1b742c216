// Lloyd's assignment that looks only at rows whose nearest centroid may have changed.
//
// For every row it keeps a lower bound of how much farther the second centroid is than the first
// (Hamerly 2010). When centroids move, the bound shrinks by the two largest moves that matter; a
// row whose bound is above zero is left alone. Rows that are looked at are multiplied in int8
// where the CPU can. What rounding may have done to a product is bounded too: centroids that are
// within that bound of the best are compared once more in float32, so that the result is that of
// float32. Eager rounds need neither bounds nor second looks: they are only a way to a good start.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "protogcd/cluster/nearest_centroids.h"
#include "protogcd/cluster/row_loops.h"

namespace protogcd {
namespace {

constexpr std::int64_t kChunk = 512;    // rows that a thread takes at a time
constexpr float kFloat32Error = 1e-6F;  // of a sum of products, relative to the two lengths
constexpr float kNever = -std::numeric_limits<float>::infinity();

struct Change {
  std::int64_t row;
  std::int32_t from, to;  ///< -1: from nowhere
};

/// The centroids of one round, as the products need them.
struct Round {
  const float* centroids;  ///< [K, D]
  const float* bias;       ///< [K], -|c|^2 / 2: a score is bias + x . c, half of |x|^2 - d^2
  const float* norms;      ///< [K], |c|
  float largest_norm = 0;
  const std::int64_t* eager_sizes = nullptr;  ///< [K]: as in assign_eagerly
  std::optional<Int8Columns> columns;
};

class CpuNearestCentroids : public NearestCentroids {
 public:
  CpuNearestCentroids(const Points& points, std::int64_t k, const at::Tensor& fixed)
      : NearestCentroids(points, k, fixed),
        labels_(static_cast<std::size_t>(points.size()), -1),
        gaps_(static_cast<std::size_t>(points.size()), kNever),
        sums_(at::zeros({k, points.width()}, at::kDouble)),
        counts_(static_cast<std::size_t>(k), 0) {
    if (fixed.defined()) take_fixed();
  }

  std::int64_t assign(const at::Tensor& centroids) override {
    if (previous_.defined()) shrink_gaps(centroids);
    return look_at_all(centroids, nullptr);
  }
  std::int64_t assign_eagerly(const at::Tensor& centroids,
                              const std::vector<std::int64_t>& sizes) override;
  at::Tensor means(const at::Tensor& centroids) const override;
  at::Tensor labels() const override {
    return at::tensor(at::ArrayRef<std::int32_t>(labels_)).to(at::kLong);
  }
  std::vector<std::int64_t> counts() const override { return counts_; }

 private:
  void take_fixed();
  void shrink_gaps(const at::Tensor& centroids);
  std::int64_t look_at_all(const at::Tensor& centroids, const std::int64_t* eager_sizes);
  void look_at(std::int64_t begin, std::int64_t end, const Round& round,
               std::vector<Change>& changes);
  std::int32_t judge(std::int64_t row, float* scores, const Round& round);
  std::int32_t judge_eagerly(std::int64_t row, float* scores, const std::int64_t* sizes) const;
  void apply(const std::vector<Change>& changes, bool rough);
  void add(const std::vector<Change>& changes);
  at::Tensor rough_sums() const;
  void move(std::int64_t row, std::int64_t from, std::int64_t to) override;

  const float* row_of(std::int64_t row) const {
    return points_.rows().const_data_ptr<float>() + row * points_.width();
  }

  std::vector<std::int32_t> labels_;
  std::vector<float> gaps_;  ///< at least how much farther the second centroid is
  at::Tensor sums_;          ///< [K, D] float64, kept up to date by what changes unless rough_
  bool rough_ = false;       ///< after eager rounds of rounded rows
  std::vector<std::int64_t> counts_;
  at::Tensor previous_;  ///< centroids of the last round
};

void CpuNearestCentroids::take_fixed() {
  const std::int64_t* clusters = fixed_.const_data_ptr<std::int64_t>();
  std::vector<Change> changes;
  for (std::int64_t i = 0; i < points_.size(); ++i) {
    if (clusters[i] < 0) continue;
    gaps_[static_cast<std::size_t>(i)] = std::numeric_limits<float>::infinity();
    labels_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(clusters[i]);
    changes.push_back({i, -1, static_cast<std::int32_t>(clusters[i])});
  }
  apply(changes, false);
}

/// Centroids have moved: a row's own may have gone farther away, another may have come nearer.
void CpuNearestCentroids::shrink_gaps(const at::Tensor& centroids) {
  const at::Tensor distances = (centroids - previous_).square().sum(1, false, at::kDouble).sqrt();
  std::vector<float> moves(distances.const_data_ptr<double>(),
                           distances.const_data_ptr<double>() + k_);
  const auto farthest = std::ranges::max_element(moves);
  const auto which = static_cast<std::int32_t>(farthest - moves.begin());
  float second = 0;
  for (std::int64_t k = 0; k < k_; ++k)
    if (k != which) second = std::max(second, moves[static_cast<std::size_t>(k)]);
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    const std::int32_t own = labels_[i];
    gaps_[i] -= moves[static_cast<std::size_t>(own)] + (own == which ? second : *farthest);
  }
}

std::int64_t CpuNearestCentroids::assign_eagerly(const at::Tensor& centroids,
                                                 const std::vector<std::int64_t>& sizes) {
  for (float& gap : gaps_)
    if (gap < std::numeric_limits<float>::infinity()) gap = kNever;
  return look_at_all(centroids, sizes.data());
}

std::int64_t CpuNearestCentroids::look_at_all(const at::Tensor& centroids,
                                              const std::int64_t* eager_sizes) {
  previous_ = centroids;
  const at::Tensor squares = centroids.square().sum(1), bias = squares.mul(-0.5),
                   norms = squares.sqrt();
  Round round{.centroids = centroids.const_data_ptr<float>(),
              .bias = bias.const_data_ptr<float>(),
              .norms = norms.const_data_ptr<float>(),
              .largest_norm = norms.max().item<float>(),
              .eager_sizes = eager_sizes,
              .columns = {}};
  if (points_.rounded() != nullptr)
    round.columns.emplace(round.centroids, round.bias, k_, points_.width());

  const std::int64_t chunks = (points_.size() + kChunk - 1) / kChunk;
  std::vector<std::vector<Change>> changes(static_cast<std::size_t>(chunks));
  at::parallel_for(0, chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      look_at(chunk * kChunk, std::min((chunk + 1) * kChunk, points_.size()), round,
              changes[static_cast<std::size_t>(chunk)]);
    }
  });
  std::vector<Change> all;  // in the order of the rows, whatever the threads did
  for (const auto& some : changes) all.insert(all.end(), some.begin(), some.end());
  apply(all, eager_sizes != nullptr && round.columns);
  return std::ssize(all);
}

void CpuNearestCentroids::look_at(std::int64_t begin, std::int64_t end, const Round& round,
                                  std::vector<Change>& changes) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = begin; i < end; ++i)
    if (gaps_[static_cast<std::size_t>(i)] <= 0) rows.push_back(i);
  if (rows.empty()) return;
  const auto judge_all = [&](std::span<const std::int64_t> some, float* scores,
                             std::int64_t stride) {
    for (std::size_t r = 0; r < some.size(); ++r, scores += stride) {
      std::int32_t& label = labels_[static_cast<std::size_t>(some[r])];
      const std::int32_t now = round.eager_sizes != nullptr
                                   ? judge_eagerly(some[r], scores, round.eager_sizes)
                                   : judge(some[r], scores, round);
      if (now != label) changes.push_back({some[r], label, now});
      label = now;
    }
  };
  if (!round.columns) {
    const at::Tensor chosen =
        points_.rows().index_select(0, at::from_blob(rows.data(), {std::ssize(rows)}, at::kLong));
    const at::Tensor columns =
        at::from_blob(const_cast<float*>(round.centroids), {k_, points_.width()}, at::kFloat);
    const at::Tensor bias = at::from_blob(const_cast<float*>(round.bias), {k_}, at::kFloat);
    const at::Tensor scores = at::addmm(bias, chosen, columns.t());  // [B, K]
    return judge_all(rows, scores.data_ptr<float>(), k_);
  }
  std::vector<float> scores(static_cast<std::size_t>(kProductRows * round.columns->stride()));
  std::array<std::int64_t, kProductRows> six{};
  for (std::size_t first = 0; first < rows.size(); first += kProductRows) {
    const std::size_t count = std::min<std::size_t>(kProductRows, rows.size() - first);
    for (std::size_t r = 0; r < kProductRows; ++r) six[r] = rows[first + std::min(r, count - 1)];
    int8_products(*points_.rounded(), six, *round.columns, scores.data());
    judge_all(std::span(rows).subspan(first, count), scores.data(), round.columns->stride());
  }
}

/// The nearest centroid by its scores [K], which are lost; sets the row's gap.
std::int32_t CpuNearestCentroids::judge(std::int64_t row, float* scores, const Round& round) {
  const float square = points_.squared_norms().const_data_ptr<float>()[row];
  const float norm = std::sqrt(square), error = kFloat32Error * norm * round.largest_norm;
  const float lost = round.columns ? points_.rounded()->residual(row) : 0.0F;
  const auto score_error = [&](std::int64_t k) {
    const float residual = round.columns ? round.columns->residual(k) : 0.0F;
    return error + lost * round.norms[k] + (norm + lost) * residual;
  };
  std::int64_t best = argmax(scores, k_);
  float first = scores[best], first_error = score_error(best);
  for (std::int64_t k = 0; k < k_; ++k) scores[k] += score_error(k);  // now upper bounds
  scores[best] = kNever;
  float second = largest(scores, k_);
  if (second >= first - first_error) {  // too close for int8
    const auto exact_score = [&](std::int64_t k) {
      return round.bias[k] +
             dot(row_of(row), round.centroids + k * points_.width(), points_.width());
    };
    first = exact_score(best);
    first_error = error;
    second = kNever;
    for (std::int64_t k = 0; k < k_; ++k) {
      if (scores[k] < first - error) {
        second = std::max(second, scores[k]);
        continue;
      }
      const float exact = exact_score(k);
      second = std::max(second, std::min(first, exact) + error);
      if (exact > first || (exact == first && k < best)) {
        first = exact;
        best = k;
      }
    }
  }
  const float near = std::max(0.0F, square - 2 * first + 2 * first_error);
  const float far = std::max(0.0F, square - 2 * second);
  gaps_[static_cast<std::size_t>(row)] = std::sqrt(far) - std::sqrt(near);
  return static_cast<std::int32_t>(best);
}

std::int32_t CpuNearestCentroids::judge_eagerly(std::int64_t row, float* scores,
                                                const std::int64_t* sizes) const {
  const auto own = static_cast<std::size_t>(labels_[static_cast<std::size_t>(row)]);
  const float square = points_.squared_norms().const_data_ptr<float>()[row];
  const float distance = std::max(0.0F, square - 2 * scores[own]);
  if (sizes[own] > 1) scores[own] -= distance / static_cast<float>(sizes[own]);
  return static_cast<std::int32_t>(argmax(scores, k_));
}

void CpuNearestCentroids::apply(const std::vector<Change>& changes, bool rough) {
  for (const Change& change : changes) {
    ++counts_[static_cast<std::size_t>(change.to)];
    if (change.from >= 0) --counts_[static_cast<std::size_t>(change.from)];
  }
  if (!rough && !rough_) {
    add(changes);
  } else if (!rough) {
    sums_.zero_();
    std::vector<Change> all;
    for (std::int64_t i = 0; i < points_.size(); ++i)
      all.push_back({i, -1, labels_[static_cast<std::size_t>(i)]});
    add(all);
  }
  rough_ = rough;
}

/// Each thread adds some columns of all rows: the sums do not depend on the number of threads.
void CpuNearestCentroids::add(const std::vector<Change>& changes) {
  double* sums = sums_.data_ptr<double>();
  const std::int64_t width = points_.width();
  at::parallel_for(0, width, 64, [&](std::int64_t begin, std::int64_t end) {
    for (const Change& change : changes) {
      const float* row = row_of(change.row);
      double* to = sums + change.to * width;
      for (std::int64_t j = begin; j < end; ++j) to[j] += row[j];
      if (change.from < 0) continue;
      double* from = sums + change.from * width;
      for (std::int64_t j = begin; j < end; ++j) from[j] -= row[j];
    }
  });
}

/// Sums of the rounded rows: a quarter of the memory to read, and errors that cancel out.
at::Tensor CpuNearestCentroids::rough_sums() const {
  at::Tensor sums = at::zeros({k_, points_.width()}, at::kFloat);
  float* sum = sums.data_ptr<float>();
  const std::int64_t width = points_.width();
  at::parallel_for(0, width, 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < points_.size(); ++i)
      add_int8_row(*points_.rounded(), i, begin, end,
                   sum + labels_[static_cast<std::size_t>(i)] * width);
  });
  return sums;
}

void CpuNearestCentroids::move(std::int64_t row, std::int64_t from, std::int64_t to) {
  labels_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(to);
  gaps_[static_cast<std::size_t>(row)] = kNever;
  apply({{row, static_cast<std::int32_t>(from), static_cast<std::int32_t>(to)}}, rough_);
}

at::Tensor CpuNearestCentroids::means(const at::Tensor& centroids) const {
  const at::Tensor sizes = at::tensor(at::ArrayRef<std::int64_t>(counts_)).unsqueeze(1);
  const at::Tensor sums = rough_ ? rough_sums() : sums_;
  return at::where(sizes > 0, sums / sizes.clamp_min(1), centroids.to(sums.scalar_type()))
      .to(at::kFloat);
}

}  // namespace

std::unique_ptr<NearestCentroids> make_cpu_nearest_centroids(const Points& points, std::int64_t k,
                                                             const at::Tensor& fixed) {
  return std::make_unique<CpuNearestCentroids>(points, k, fixed);
}

}  // namespace protogcd
