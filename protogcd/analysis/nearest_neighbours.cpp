#include "protogcd/analysis/nearest_neighbours.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace protogcd {
namespace {

constexpr std::size_t kColumns = 32;  ///< rows of the features that a product takes at once
constexpr std::size_t kQueries = 48;  ///< rows of a task; a multiple of 4, 6 and 8

/// Products of a task's queries [kQueries, D] with one block of columns [D, kColumns], as half
/// squared distances less half the query's own length: |c|^2 / 2 - q c. The sums stay in registers:
/// 8 x 2 of 32 with AVX-512, 6 x 2 of 16 with AVX2, 4 x 2 of 16 else.
struct HalfDistances {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const float* queries, const float* columns, const float* halves,
                                  std::size_t dimension, float* out) {
    using Floats = FloatVector<kBytes>;
    constexpr std::size_t kRows = kBytes == 64 ? 8 : kBytes == 32 ? 6 : 4;
    constexpr std::size_t kWide = 2 * Floats::kCount;
    for (std::size_t q = 0; q < kQueries; q += kRows) {
      for (std::size_t c = 0; c < kColumns; c += kWide) {
        typename Floats::Type sums[kRows][2];
        for (std::size_t r = 0; r < kRows; ++r) {
          sums[r][0] = Floats::at(halves + c);
          sums[r][1] = Floats::at(halves + c + Floats::kCount);
        }
        for (std::size_t d = 0; d < dimension; ++d) {
          const typename Floats::Type left = Floats::at(columns + d * kColumns + c);
          const typename Floats::Type right =
              Floats::at(columns + d * kColumns + c + Floats::kCount);
          for (std::size_t r = 0; r < kRows; ++r) {
            const float value = queries[(q + r) * dimension + d];
            sums[r][0] -= value * left;
            sums[r][1] -= value * right;
          }
        }
        for (std::size_t r = 0; r < kRows; ++r) {
          Floats::at(out + (q + r) * kColumns + c) = sums[r][0];
          Floats::at(out + (q + r) * kColumns + c + Floats::kCount) = sums[r][1];
        }
      }
    }
  }
};

/// Which of each query's values are below its bound, as bits. No branch: few are, once a row has
/// seen many others.
struct BelowBounds {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const float* values, const float* bounds, std::uint32_t* below) {
    for (std::size_t q = 0; q < kQueries; ++q) {
      std::uint32_t bits = 0;
      for (std::size_t c = 0; c < kColumns; ++c)
        bits |= static_cast<std::uint32_t>(values[q * kColumns + c] < bounds[q]) << c;
      below[q] = bits;
    }
  }
};

/// |a - b|^2, summed in 16 lanes whatever the width.
struct SquaredDistance {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const float* a, const float* b, std::size_t dimension,
                                  float* out) {
    using Floats = FloatVector<kBytes>;
    float lanes[16] = {};
    std::size_t d = 0;
    for (; d + 16 <= dimension; d += 16) {
      for (int lane = 0; lane < 16; lane += Floats::kCount) {
        const typename Floats::Type difference =
            Floats::at(a + d + lane) - Floats::at(b + d + lane);
        Floats::at(lanes + lane) += difference * difference;
      }
    }
    for (; d < dimension; ++d) lanes[d % 16] += (a[d] - b[d]) * (a[d] - b[d]);
    for (int half = 8; half > 0; half /= 2)
      for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    *out = lanes[0];
  }
};

/// The features less their mean (products lose less to rounding), and blocks of columns.
class Columns {
 public:
  Columns(std::span<const float> features, std::size_t dimension, ThreadPool& pool)
      : dimension_(dimension),
        rows_(features.size() / dimension),
        blocks_((rows_ + kColumns - 1) / kColumns),
        centred_(features.begin(), features.end()),
        packed_(blocks_ * kColumns * dimension),
        halves_(blocks_ * kColumns, std::numeric_limits<float>::infinity()) {
    std::vector<double> mean(dimension);
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t d = 0; d < dimension; ++d) mean[d] += features[row * dimension + d];
    for (double& value : mean) value /= static_cast<double>(rows_);
    pool.for_each(blocks_, [&](std::size_t block) { pack(block, mean); });
  }

  std::size_t rows() const { return rows_; }
  std::size_t blocks() const { return blocks_; }
  const float* row(std::size_t index) const { return centred_.data() + index * dimension_; }
  const float* packed(std::size_t block) const {
    return packed_.data() + block * kColumns * dimension_;
  }
  /// Half the squared length of each column; infinite beyond the last row.
  const float* halves(std::size_t block) const { return halves_.data() + block * kColumns; }

 private:
  void pack(std::size_t block, const std::vector<double>& mean) {
    float* packed = packed_.data() + block * kColumns * dimension_;
    const std::size_t end = std::min(rows_, (block + 1) * kColumns);
    for (std::size_t row = block * kColumns; row < end; ++row) {
      double length = 0;
      for (std::size_t d = 0; d < dimension_; ++d) {
        float& value = centred_[row * dimension_ + d];
        value = static_cast<float>(value - mean[d]);
        length += double{value} * value;
        packed[d * kColumns + row % kColumns] = value;
      }
      halves_[row] = static_cast<float>(length / 2);
    }
  }

  std::size_t dimension_, rows_, blocks_;
  std::vector<float> centred_, packed_, halves_;
};

/// The least values seen so far, each with how many places after the query its row comes; roughly:
/// twice as many are let in before the worse half goes.
class Least {
 public:
  void clear(std::size_t kept) {
    kept_ = kept;
    bound_ = std::numeric_limits<float>::infinity();
    found_.clear();
    found_.reserve(2 * kept + kColumns);
  }
  float bound() const { return bound_; }
  void add(float value, std::uint32_t places) { found_.emplace_back(value, places); }
  void trim() {
    if (found_.size() < 2 * kept_) return;
    cut();
    bound_ = std::ranges::max_element(found_)->first;
  }
  std::vector<std::pair<float, std::uint32_t>>& cut() {
    if (found_.size() > kept_) {
      std::ranges::nth_element(found_, found_.begin() + static_cast<std::ptrdiff_t>(kept_));
      found_.resize(kept_);
    }
    return found_;
  }

 private:
  std::size_t kept_ = 0;
  float bound_ = 0;
  std::vector<std::pair<float, std::uint32_t>> found_;
};

class Search {
 public:
  Search(const Columns& columns, std::size_t dimension, std::span<const std::uint32_t> queries,
         VectorWidth width, Neighbours& result)
      : columns_(columns),
        dimension_(dimension),
        queries_(queries),
        width_(width),
        result_(result) {}

  /// Rows `first` and on of the queries, at most kQueries.
  void task(std::size_t first) const {
    const std::size_t count = std::min(kQueries, queries_.size() - first);
    // Distances by products are rounded: some more are kept and measured again.
    const std::size_t kept = result_.count + result_.count / 8 + 8;
    std::vector<float> rows(kQueries * dimension_), products(kQueries * kColumns);
    std::vector<Least> least(count);
    for (std::size_t q = 0; q < count; ++q) {
      std::copy_n(columns_.row(queries_[first + q]), dimension_, rows.data() + q * dimension_);
      least[q].clear(kept);
    }
    float bounds[kQueries] = {};
    std::uint32_t below[kQueries];
    // From the queries' own place on, and around, as equal distances are ordered.
    const std::size_t start = queries_[first] / kColumns;
    for (std::size_t i = 0; i < columns_.blocks(); ++i) {
      const std::size_t block = (start + i) % columns_.blocks();
      for (std::size_t q = 0; q < count; ++q) bounds[q] = least[q].bound();
      run_kernel<HalfDistances>(width_, rows.data(), columns_.packed(block), columns_.halves(block),
                                dimension_, products.data());
      run_kernel<BelowBounds>(width_, products.data(), static_cast<float*>(bounds),
                              static_cast<std::uint32_t*>(below));
      for (std::size_t q = 0; q < count; ++q)
        offer(products.data() + q * kColumns, below[q], block, queries_[first + q], least[q]);
    }
    for (std::size_t q = 0; q < count; ++q) finish(first + q, least[q].cut());
  }

 private:
  void offer(const float* values, std::uint32_t below, std::size_t block, std::uint32_t self,
             Least& least) const {
    if (below == 0) return;
    for (; below != 0; below &= below - 1) {
      const auto c = static_cast<unsigned>(__builtin_ctz(below));
      const std::size_t row = block * kColumns + c;
      if (row != self) least.add(values[c], places_after(self, row));
    }
    least.trim();
  }

  /// How many rows after `self` a row comes, around the end.
  std::uint32_t places_after(std::size_t self, std::size_t row) const {
    return static_cast<std::uint32_t>(row > self ? row - self : row + columns_.rows() - self);
  }

  void finish(std::size_t query, std::vector<std::pair<float, std::uint32_t>>& found) const {
    const std::size_t self = queries_[query];
    const auto row_of = [&](std::uint32_t places) { return (self + places) % columns_.rows(); };
    for (auto& [distance, places] : found)
      run_kernel<SquaredDistance>(width_, columns_.row(self), columns_.row(row_of(places)),
                                  dimension_, &distance);
    std::ranges::sort(found);
    for (std::size_t i = 0; i < result_.count; ++i) {
      result_.squared_distances[query * result_.count + i] = found[i].first;
      result_.rows[query * result_.count + i] = static_cast<std::uint32_t>(row_of(found[i].second));
    }
  }

  const Columns& columns_;
  const std::size_t dimension_;
  const std::span<const std::uint32_t> queries_;
  const VectorWidth width_;
  Neighbours& result_;
};

}  // namespace

Neighbours nearest_neighbours(std::span<const float> features, std::size_t dimension,
                              std::size_t count, std::span<const std::uint32_t> queries,
                              ThreadPool& pool, VectorWidth width) {
  if (dimension == 0 || features.empty()) return {};
  const Columns columns(features, dimension, pool);
  Neighbours result{
      .count = std::min(count, columns.rows() - 1), .rows = {}, .squared_distances = {}};
  result.rows.resize(queries.size() * result.count);
  result.squared_distances.resize(queries.size() * result.count);
  const Search search(columns, dimension, queries, width, result);
  pool.for_each((queries.size() + kQueries - 1) / kQueries,
                [&](std::size_t task) { search.task(task * kQueries); });
  return result;
}

Neighbours nearest_neighbours(std::span<const float> features, std::size_t dimension,
                              std::size_t count, ThreadPool& pool, VectorWidth width) {
  std::vector<std::uint32_t> all(dimension == 0 ? 0 : features.size() / dimension);
  std::iota(all.begin(), all.end(), 0U);
  return nearest_neighbours(features, dimension, count, all, pool, width);
}

}  // namespace protogcd
