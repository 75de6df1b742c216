#include "protogcd/analysis/tsne_attraction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace protogcd {
namespace {

struct Attraction {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const Affinities* affinities, const MapPoints* points,
                                  std::size_t begin, std::size_t end, float* out_x, float* out_y) {
    using Floats = FloatVector<kBytes>;
    using Type = typename Floats::Type;
    const float *x = points->x.data(), *y = points->y.data();
    for (std::size_t i = begin; i < end; ++i) {
      Type sum_x = {}, sum_y = {};
      for (std::size_t e = affinities->starts[i]; e < affinities->starts[i + 1];
           e += Floats::kCount) {
        const std::uint32_t* columns = affinities->columns.data() + e;
        Type dx, dy;
        for (int l = 0; l < Floats::kCount; ++l) dx[l] = x[columns[l]];
        for (int l = 0; l < Floats::kCount; ++l) dy[l] = y[columns[l]];
        dx = x[i] - dx;
        dy = y[i] - dy;
        const Type pull = Floats::at(affinities->weights.data() + e) / (1 + dx * dx + dy * dy);
        sum_x += pull * dx;
        sum_y += pull * dy;
      }
      float total_x = 0, total_y = 0;
      for (int l = 0; l < Floats::kCount; ++l) total_x += sum_x[l], total_y += sum_y[l];
      out_x[i - begin] = total_x;
      out_y[i - begin] = total_y;
    }
  }
};

}  // namespace

void attraction(const Affinities& affinities, const MapPoints& points, std::size_t begin,
                std::size_t end, float* out_x, float* out_y, VectorWidth width) {
  run_kernel<Attraction>(width, &affinities, &points, begin, end, out_x, out_y);
}

double divergence(const Affinities& affinities, const MapPoints& points, double normaliser,
                  ThreadPool& pool) {
  constexpr std::size_t kRowsOfTask = 512;
  const std::size_t rows = affinities.rows(), chunks = (rows + kRowsOfTask - 1) / kRowsOfTask;
  std::vector<double> sums(chunks);  // added in order: the same whatever the number of threads
  pool.for_each(chunks, [&](std::size_t chunk) {
    double sum = 0;
    for (std::size_t i = chunk * kRowsOfTask; i < std::min(rows, (chunk + 1) * kRowsOfTask); ++i) {
      for (std::size_t e = affinities.starts[i]; e < affinities.starts[i + 1]; ++e) {
        const double weight = affinities.weights[e];
        if (weight <= 0) continue;
        const std::size_t j = affinities.columns[e];
        const double dx = points.x[i] - points.x[j], dy = points.y[i] - points.y[j];
        sum += weight * std::log(weight * normaliser * (1 + dx * dx + dy * dy));
      }
    }
    sums[chunk] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

}  // namespace protogcd
