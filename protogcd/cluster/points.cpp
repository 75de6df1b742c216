#include "protogcd/cluster/points.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "protogcd/cluster/row_loops.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::int64_t kBlock = 4096;    // rows at a time where memory would grow with all
constexpr double kLargestSquare = 1e30;  // its square root still has a finite square in float32

void check_shape(const at::Tensor& features, const std::string& name) {
  if (features.dim() != 2 || features.size(0) == 0 || features.size(1) == 0) {
    throw DataError(fmt::format("{}: expected rows of numbers [N, D], got the shape [{}]", name,
                                join(features.sizes(), ", ")));
  }
  if (features.scalar_type() != at::kFloat && features.scalar_type() != at::kDouble) {
    throw DataError(fmt::format("{}: expected float32 or float64 numbers", name));
  }
}

void check_lengths(const at::Tensor& features, const std::string& name) {
  const at::Tensor lengths =
      at::linalg_vector_norm(features, 2, at::IntArrayRef{1}, false, at::kDouble);
  const at::Tensor bad = at::logical_not(lengths.square() < kLargestSquare).nonzero();
  if (bad.size(0) == 0) return;
  throw DataError(fmt::format("{}: row {} (from 0) has a number that is not finite or too large",
                              name, bad[0].item<std::int64_t>()));
}

/// Sums of the columns [D] in float64; in blocks whatever the threads, for the same bits.
at::Tensor column_sums(const float* values, std::int64_t rows, std::int64_t width) {
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  const at::Tensor sums = at::zeros({blocks, width}, at::kDouble);
  double* sum = sums.data_ptr<double>();
  at::parallel_for(0, blocks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t end = std::min((block + 1) * kBlock, rows);
      for (std::int64_t i = block * kBlock; i < end; ++i)
        for (std::int64_t j = 0; j < width; ++j) sum[block * width + j] += values[i * width + j];
    }
  });
  return sums.sum(0);
}

/// Distances of rounded rows and columns, unless they are so short that rounding would matter: the
/// exact ones then. Six rows at a time; the products of a block are turned over in the cache.
at::Tensor rounded_distances(const at::Tensor& exact, const Int8Rows& rows,
                             const at::Tensor& columns) {
  constexpr std::int64_t kRows = 8 * kProductRows;
  constexpr float kShort = 64;  // in units of the square of what rounding lost
  const std::int64_t count = exact.size(0), width = exact.size(1), candidates = columns.size(0),
                     blocks = (count + kRows - 1) / kRows;
  const float *row = exact.const_data_ptr<float>(), *column = columns.const_data_ptr<float>();
  const at::Tensor bias = at::zeros({candidates}, at::kFloat);
  const Int8Columns packed(columns.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                           candidates, columns.size(1));
  at::Tensor distances = at::empty({candidates, count}, at::kFloat);
  float* out = distances.data_ptr<float>();
  at::parallel_for(0, blocks, 8, [&](std::int64_t first, std::int64_t last) {
    std::vector<float> products(static_cast<std::size_t>(kRows * packed.stride()));
    std::array<std::int64_t, kProductRows> six{};
    for (std::int64_t block = first; block < last; ++block) {
      const std::int64_t begin = block * kRows, size = std::min(kRows, count - begin);
      for (std::int64_t r = 0; r < size; r += kProductRows) {
        for (std::int64_t i = 0; i < kProductRows; ++i)
          six[static_cast<std::size_t>(i)] = std::min(begin + r + i, count - 1);
        int8_products(rows, six, packed, products.data() + r * packed.stride());
      }
      for (std::int64_t c = 0; c < candidates; ++c) {
        const float* product = products.data() + c;
        for (std::int64_t i = begin; i < begin + size; ++i, product += packed.stride()) {
          float distance = packed.square(c) + rows.square(i) - 2 * *product;
          const float lost = packed.residual(c) + rows.residual(i);
          if (distance <= kShort * lost * lost)
            distance = squared_distance(row + i * width, column + c * width, width);
          out[c * count + i] = distance;
        }
      }
    }
  });
  return distances;
}

}  // namespace

void check_features(const at::Tensor& features, const std::string& name) {
  check_shape(features, name);
  check_lengths(features, name);
}

Points::Points(const at::Tensor& features, std::string name, std::shared_ptr<Communicator> team)
    : name_(std::move(name)), team_(std::move(team)) {
  check_shape(features, name_);
  total_ = over_all(features.size(0));
  if (features.is_cpu() && features.scalar_type() == at::kFloat) {
    centre_on_cpu(features.contiguous());
  } else {
    centre(features);
  }
  // One bad number spoils the mean and with it every row: the one at fault is looked for then.
  const bool good = (squared_norms_ < kLargestSquare).all().item<bool>();
  if (over_all(std::int64_t{good ? 0 : 1}) > 0) {
    check_lengths(features, name_);
    if (shared())
      throw DataError(
          fmt::format("{}: rows of another process are not finite or too large", name_));
    throw DataError(fmt::format("{}: numbers too far apart to be centred", name_));
  }
  mean_variance_ = over_all(squared_norms_.sum(at::kDouble).item<double>()) /
                   static_cast<double>(total_ * width());
}

at::Tensor Points::over_all(at::Tensor own) const {
  if (shared()) team_->all_reduce(own);
  return own;
}

double Points::over_all(double own) const {
  return shared() ? over_all(at::full({}, own, at::kDouble)).item<double>() : own;
}

double Points::of_first(double own) const {
  if (!shared()) return own;
  at::Tensor number = at::full({}, own, at::kDouble);
  team_->broadcast(number);
  return number.item<double>();
}

std::int64_t Points::over_all(std::int64_t own) const {
  return shared() ? over_all(at::full({}, own, at::kLong)).item<std::int64_t>() : own;
}

void Points::centre(const at::Tensor& features) {
  // A mean in float32 would do, but one that overflows would hide which row is at fault.
  mean_ = over_all(features.sum(0, false, at::kDouble)).div_(total_).to(features.scalar_type());
  rows_ = (features - mean_).contiguous();
  squared_norms_ = at::linalg_vector_norm(rows_, 2, at::IntArrayRef{1}).square();
}

/// The same in two passes over the features, the rows rounded in the second.
void Points::centre_on_cpu(const at::Tensor& features) {
  const std::int64_t count = features.size(0), width = features.size(1);
  const float* from = features.const_data_ptr<float>();
  mean_ = over_all(column_sums(from, count, width)).div_(total_).to(at::kFloat);
  rows_ = at::empty_like(features);
  squared_norms_ = at::empty({count}, features.options());
  if (has_int8_products(width)) rounded_.emplace(count, width);
  const float* mean = mean_.const_data_ptr<float>();
  float *to = rows_.data_ptr<float>(), *squares = squared_norms_.data_ptr<float>();
  at::parallel_for(0, count, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* row = to + i * width;
      for (std::int64_t j = 0; j < width; ++j) row[j] = from[i * width + j] - mean[j];
      squares[i] = dot(row, row, width);
      if (rounded_ && squares[i] < kLargestSquare) rounded_->set(i, row);
    }
  });
}

at::Tensor Points::squared_distances(const at::Tensor& columns) const {
  if (rounded_) return rounded_distances(rows_, *rounded_, columns.contiguous());
  at::Tensor distances = at::mm(columns, rows_.t());  // [C, N]
  return distances.mul_(-2).add_(columns.square().sum(1, true)).add_(squared_norms_).clamp_min_(0);
}

/// In one pass instead of one for every operation.
at::Tensor own_distances_on_cpu(const Points& points, const at::Tensor& centroids,
                                const at::Tensor& labels) {
  at::Tensor distances = at::empty({points.size()}, at::kDouble);
  const float *rows = points.rows().const_data_ptr<float>(),
              *own = centroids.const_data_ptr<float>();
  const std::int64_t *label = labels.const_data_ptr<std::int64_t>(), width = points.width();
  double* out = distances.data_ptr<double>();
  at::parallel_for(0, points.size(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = squared_distance(rows + i * width, own + label[i] * width, width);
  });
  return distances;
}

at::Tensor own_distances(const Points& points, const at::Tensor& centroids,
                         const at::Tensor& labels) {
  if (points.rows().is_cpu() && points.rows().scalar_type() == at::kFloat)
    return own_distances_on_cpu(points, centroids.contiguous(), labels.contiguous());
  std::vector<at::Tensor> distances;
  for (std::int64_t begin = 0; begin < points.size(); begin += kBlock) {
    const std::int64_t count = std::min(kBlock, points.size() - begin);
    const at::Tensor own = centroids.index_select(0, labels.narrow(0, begin, count));  // [B, D]
    distances.push_back(
        own.sub_(points.rows().narrow(0, begin, count)).square_().sum(1, false, at::kDouble));
  }
  return at::cat(distances);
}

}  // namespace protogcd
