#include "protogcd/analysis/tsne_affinities.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace protogcd {
namespace {

using Entry = std::pair<std::uint32_t, float>;  ///< column and weight
using Row = std::vector<Entry>;

/// Of the Gaussian exp(-precision d), as far as a search for the precision needs it.
struct Gaussian {
  double sum = 0, entropy = 0, slope = 0;  ///< entropy in nats, and its slope by ln(precision)

  Gaussian(std::span<const float> distances, double nearest, double precision,
           std::span<float> values) {
    double first = 0, second = 0;  // moments of the distances
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const double distance = distances[i] - nearest;
      const double value = std::exp(-precision * distance);
      values[i] = static_cast<float>(value);
      sum += value;
      first += distance * value;
      second += distance * distance * value;
    }
    const double mean = first / sum;
    entropy = std::log(sum) + precision * mean;
    slope = -precision * precision * (second / sum - mean * mean);
  }
};

/// Both lists are sorted by column.
Row merged(const Row& own, const Row& others) {
  Row result;
  result.reserve(own.size() + others.size());
  auto a = own.begin(), b = others.begin();
  while (a != own.end() || b != others.end()) {
    if (b == others.end() || (a != own.end() && a->first < b->first)) {
      result.push_back(*a++);
    } else if (a == own.end() || b->first < a->first) {
      result.push_back(*b++);
    } else {
      result.emplace_back(a->first, a->second + b->second);
      ++a, ++b;
    }
  }
  return result;
}

}  // namespace

double possible_perplexity(double asked, std::size_t rows) {
  return std::max(1.0, std::min(asked, (static_cast<double>(rows) - 1) / 3));
}

std::size_t perplexity_neighbours(double perplexity, std::size_t rows) {
  return std::min(rows - 1, static_cast<std::size_t>(std::ceil(3 * perplexity)));
}

void conditional_affinities(std::span<const float> squared_distances, double perplexity,
                            std::span<float> out) {
  const auto [nearest, farthest] = std::ranges::minmax(squared_distances);
  const double wanted = std::log(perplexity);
  // In units of the distances themselves, so that rows of any scale take as few steps.
  const double spread = double{farthest} - nearest;
  double precision = spread > 0 ? 1 / spread : 0, sum = 1;
  double low = 0, high = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 100; ++step) {
    const Gaussian gaussian(squared_distances, nearest, precision, out);
    sum = gaussian.sum;
    const double difference = gaussian.entropy - wanted;
    if (std::abs(difference) < 1e-6 || spread <= 0) break;
    (difference > 0 ? low : high) = precision;  // too many neighbours: narrower
    // Newton's step in ln(precision) where it stays within the bounds, else their middle.
    double next = precision * std::exp(-difference / gaussian.slope);
    if (!(next > low && next < high && next < 16 * precision && next > precision / 16))
      next = std::isinf(high) ? 2 * precision : (low + high) / 2;
    if (!std::isfinite(next) || next == precision) break;
    precision = next;
  }
  for (float& value : out) value = static_cast<float>(value / sum);
}

Affinities joint_affinities(const Neighbours& neighbours, double perplexity, ThreadPool& pool) {
  const std::size_t count = neighbours.count, rows = neighbours.rows.size() / count;
  std::vector<Row> own(rows), others(rows);
  constexpr std::size_t kRowsOfTask = 256;
  const auto for_each_row = [&](const auto& body) {
    pool.for_each((rows + kRowsOfTask - 1) / kRowsOfTask, [&](std::size_t chunk) {
      for (std::size_t i = chunk * kRowsOfTask; i < std::min(rows, (chunk + 1) * kRowsOfTask); ++i)
        body(i);
    });
  };
  for_each_row([&](std::size_t i) {
    std::vector<float> values(count);
    conditional_affinities({neighbours.squared_distances.data() + i * count, count}, perplexity,
                           values);
    for (std::size_t k = 0; k < count; ++k)
      own[i].emplace_back(neighbours.rows[i * count + k],
                          values[k] / (2 * static_cast<float>(rows)));
    std::ranges::sort(own[i]);
  });
  for (std::size_t i = 0; i < rows; ++i)
    for (const auto& [column, weight] : own[i])
      others[column].emplace_back(static_cast<std::uint32_t>(i), weight);
  for_each_row([&](std::size_t i) { own[i] = merged(own[i], others[i]); });

  Affinities result;
  result.starts.push_back(0);
  for (const Row& row : own) {
    const std::size_t filled = (row.size() + Affinities::kAlign - 1) / Affinities::kAlign;
    result.starts.push_back(result.starts.back() + filled * Affinities::kAlign);
  }
  result.columns.resize(result.starts.back());
  result.weights.resize(result.starts.back());
  for_each_row([&](std::size_t i) {
    std::size_t place = result.starts[i];
    for (const auto& [column, weight] : own[i]) {
      result.columns[place] = column;
      result.weights[place++] = weight;
    }
    for (; place < result.starts[i + 1]; ++place)
      result.columns[place] = static_cast<std::uint32_t>(i);
  });
  return result;
}

}  // namespace protogcd
