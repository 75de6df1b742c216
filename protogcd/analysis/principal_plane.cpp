#include "protogcd/analysis/principal_plane.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "protogcd/analysis/vector_dispatch.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::size_t kVectors = 8;      ///< more than two, so that close third ones do not slow it
constexpr std::size_t kRowsOfSum = 512;  ///< rows whose sums are added in order
constexpr int kMostRounds = 20;

/// Products of rows less the mean with every vector [D, kVectors]: [rows, kVectors].
struct ScoreRows {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const float* features, const float* mean, const float* vectors,
                                  std::size_t rows, std::size_t dimension, float* out) {
    for (std::size_t row = 0; row < rows; ++row) {
      float sums[kVectors] = {};
      for (std::size_t d = 0; d < dimension; ++d) {
        const float value = features[row * dimension + d] - mean[d];
        for (std::size_t v = 0; v < kVectors; ++v) sums[v] += value * vectors[d * kVectors + v];
      }
      for (std::size_t v = 0; v < kVectors; ++v) out[row * kVectors + v] = sums[v];
    }
  }
};

/// Adds the products of rows less the mean, transposed, with their scores: [D, kVectors].
struct AddScored {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const float* features, const float* mean, const float* scores,
                                  std::size_t rows, std::size_t dimension, float* out) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t d = 0; d < dimension; ++d) {
        const float value = features[row * dimension + d] - mean[d];
        for (std::size_t v = 0; v < kVectors; ++v)
          out[d * kVectors + v] += value * scores[row * kVectors + v];
      }
    }
  }
};

class SubspaceIteration {
 public:
  SubspaceIteration(std::span<const float> features, std::size_t dimension, ThreadPool& pool)
      : features_(features),
        dimension_(dimension),
        rows_(features.size() / dimension),
        chunks_((rows_ + kRowsOfSum - 1) / kRowsOfSum),
        mean_(dimension),
        pool_(pool) {
    std::vector<double> sums(dimension);
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t d = 0; d < dimension; ++d) sums[d] += features[row * dimension + d];
    for (std::size_t d = 0; d < dimension; ++d)
      mean_[d] = static_cast<float>(sums[d] / static_cast<double>(rows_));
  }

  /// Of the rows of a chunk: the products with every vector, [rows, kVectors].
  std::vector<float> scores(std::size_t chunk, const std::vector<float>& vectors) const {
    std::vector<float> result(rows_of(chunk) * kVectors);
    run_kernel<ScoreRows>(width_, first_of(chunk), mean_.data(), vectors.data(), rows_of(chunk),
                          dimension_, result.data());
    return result;
  }

  /// The covariance times the vectors.
  std::vector<double> covariance_times(const std::vector<float>& vectors) const {
    std::vector<std::vector<float>> parts(chunks_);
    pool_.for_each(chunks_, [&](std::size_t chunk) {
      parts[chunk].assign(dimension_ * kVectors, 0.0F);
      const std::vector<float> scored = scores(chunk, vectors);
      run_kernel<AddScored>(width_, first_of(chunk), mean_.data(), scored.data(), rows_of(chunk),
                            dimension_, parts[chunk].data());
    });
    std::vector<double> sum(dimension_ * kVectors);
    for (const auto& part : parts)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    return sum;
  }

  std::size_t rows() const { return rows_; }
  std::size_t chunks() const { return chunks_; }
  std::size_t rows_of(std::size_t chunk) const {
    return std::min(rows_ - chunk * kRowsOfSum, kRowsOfSum);
  }

 private:
  const float* first_of(std::size_t chunk) const {
    return features_.data() + chunk * kRowsOfSum * dimension_;
  }

  std::span<const float> features_;
  std::size_t dimension_, rows_, chunks_;
  std::vector<float> mean_;
  ThreadPool& pool_;
  VectorWidth width_ = widest_vectors();
};

double product(const std::vector<double>& vectors, std::size_t a, std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < vectors.size(); i += kVectors) sum += vectors[i + a] * vectors[i + b];
  return sum;
}

/// Gram-Schmidt, the longest first. A vector within the others' span becomes zero.
std::vector<float> orthonormal(std::vector<double> vectors) {
  std::vector<float> result(vectors.size());
  double longest = 0;
  std::array<bool, kVectors> taken{};
  for (std::size_t round = 0; round < kVectors; ++round) {
    std::size_t best = kVectors;
    double length = 0;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const double own = std::sqrt(product(vectors, v, v));
      if (!taken[v] && own > length) best = v, length = own;
    }
    longest = std::max(longest, length);
    if (best == kVectors || length <= 1e-10 * longest) break;
    taken[best] = true;
    for (std::size_t i = 0; i < vectors.size(); i += kVectors) vectors[i + best] /= length;
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (taken[v]) continue;
      const double share = product(vectors, best, v);
      for (std::size_t i = 0; i < vectors.size(); i += kVectors)
        vectors[i + v] -= share * vectors[i + best];
    }
    for (std::size_t i = 0; i < vectors.size(); i += kVectors)
      result[i + round] = static_cast<float>(vectors[i + best]);
  }
  return result;
}

}  // namespace

std::vector<float> principal_plane(std::span<const float> features, std::size_t dimension,
                                   std::uint64_t seed, ThreadPool& pool) {
  if (dimension == 0 || features.empty()) return {};
  const SubspaceIteration iteration(features, dimension, pool);
  RandomStream random({.seed = seed, .purpose = RandomPurpose::kMap});
  std::vector<double> start(dimension * kVectors);
  for (double& value : start) value = random.normal();
  std::vector<float> vectors = orthonormal(std::move(start));
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<float> next = orthonormal(iteration.covariance_times(vectors));
    double change = 0;  // of the first two, whatever their sign
    for (std::size_t v = 0; v < 2; ++v) {
      double share = 0;
      for (std::size_t i = v; i < next.size(); i += kVectors) share += next[i] * vectors[i];
      change = std::max(change, 1 - std::abs(share));
    }
    vectors = std::move(next);
    if (change < 1e-5) break;
  }
  std::vector<float> plane(2 * iteration.rows());
  pool.for_each(iteration.chunks(), [&](std::size_t chunk) {
    const std::vector<float> values = iteration.scores(chunk, vectors);
    for (std::size_t row = 0; row < iteration.rows_of(chunk); ++row) {
      plane[2 * (chunk * kRowsOfSum + row)] = values[row * kVectors];
      plane[2 * (chunk * kRowsOfSum + row) + 1] = values[row * kVectors + 1];
    }
  });
  return plane;
}

}  // namespace protogcd
