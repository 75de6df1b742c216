#include "protogcd/analysis/principal_plane.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr std::size_t kVectors = 8;  ///< more than two, so that close third ones do not slow it
constexpr std::size_t kChunk = 512;  ///< rows whose sums are added in order
constexpr int kMostRounds = 40;

using Scores = std::array<float, kVectors>;

class SubspaceIteration {
 public:
  SubspaceIteration(std::span<const float> features, std::size_t dimension, ThreadPool& pool)
      : features_(features),
        dimension_(dimension),
        rows_(features.size() / dimension),
        chunks_((rows_ + kChunk - 1) / kChunk),
        mean_(dimension),
        pool_(pool) {
    std::vector<double> sums(dimension);
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t d = 0; d < dimension; ++d) sums[d] += features[row * dimension + d];
    for (std::size_t d = 0; d < dimension; ++d)
      mean_[d] = static_cast<float>(sums[d] / static_cast<double>(rows_));
  }

  /// The product of a row less the mean with every vector, [D, kVectors].
  Scores scores(std::size_t row, const std::vector<float>& vectors) const {
    Scores result{};
    for (std::size_t d = 0; d < dimension_; ++d) {
      const float value = features_[row * dimension_ + d] - mean_[d];
      for (std::size_t v = 0; v < kVectors; ++v) result[v] += value * vectors[d * kVectors + v];
    }
    return result;
  }

  /// The covariance times the vectors.
  std::vector<double> covariance_times(const std::vector<float>& vectors) const {
    std::vector<std::vector<float>> parts(chunks_);
    pool_.for_each(chunks_, [&](std::size_t chunk) {
      std::vector<float>& part = parts[chunk];
      part.assign(dimension_ * kVectors, 0.0F);
      for (std::size_t row = chunk * kChunk; row < std::min(rows_, (chunk + 1) * kChunk); ++row) {
        const Scores values = scores(row, vectors);
        for (std::size_t d = 0; d < dimension_; ++d) {
          const float value = features_[row * dimension_ + d] - mean_[d];
          for (std::size_t v = 0; v < kVectors; ++v) part[d * kVectors + v] += value * values[v];
        }
      }
    });
    std::vector<double> sum(dimension_ * kVectors);
    for (const auto& part : parts)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    return sum;
  }

  std::size_t rows() const { return rows_; }
  std::size_t chunks() const { return chunks_; }

 private:
  std::span<const float> features_;
  std::size_t dimension_, rows_, chunks_;
  std::vector<float> mean_;
  ThreadPool& pool_;
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
    if (change < 1e-6) break;
  }
  std::vector<float> plane(2 * iteration.rows());
  pool.for_each(iteration.chunks(), [&](std::size_t chunk) {
    for (std::size_t row = chunk * kChunk; row < std::min(iteration.rows(), (chunk + 1) * kChunk);
         ++row) {
      const Scores values = iteration.scores(row, vectors);
      plane[2 * row] = values[0];
      plane[2 * row + 1] = values[1];
    }
  });
  return plane;
}

}  // namespace protogcd
