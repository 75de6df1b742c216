#include "protogcd/cluster/points.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

constexpr std::int64_t kBlock = 4096;    // rows at a time where memory would grow with all
constexpr double kLargestSquare = 1e30;  // its square root still has a finite square in float32

void check_shape(const at::Tensor& features, const std::string& name) {
  if (features.dim() != 2 || features.size(0) == 0 || features.size(1) == 0) {
    throw DataError(fmt::format("{}: expected rows of numbers [N, D], got the shape [{}]", name,
                                fmt::join(features.sizes(), ", ")));
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

/// Products of six rows at a time, straight into their place.
at::Tensor rounded_products(const Bfloat16Rows& rows, std::int64_t count,
                            const at::Tensor& columns) {
  const at::Tensor bias = at::zeros({columns.size(0)}, at::kFloat);
  const Bfloat16Columns packed(columns.const_data_ptr<float>(), bias.const_data_ptr<float>(),
                               columns.size(0), columns.size(1));
  const std::int64_t groups = (count + kProductRows - 1) / kProductRows;
  const at::Tensor products = at::empty({groups * kProductRows, packed.stride()}, at::kFloat);
  float* out = products.data_ptr<float>();
  at::parallel_for(0, groups, 64, [&](std::int64_t begin, std::int64_t end) {
    std::array<const std::uint32_t*, kProductRows> six{};
    for (std::int64_t group = begin; group < end; ++group) {
      for (std::int64_t r = 0; r < kProductRows; ++r)
        six[static_cast<std::size_t>(r)] = rows.row(std::min(group * kProductRows + r, count - 1));
      bfloat16_products(six, packed, out + group * kProductRows * packed.stride());
    }
  });
  return products.narrow(0, 0, count).narrow(1, 0, columns.size(0));
}

}  // namespace

void check_features(const at::Tensor& features, const std::string& name) {
  check_shape(features, name);
  check_lengths(features, name);
}

Points::Points(const at::Tensor& features, std::string name) : name_(std::move(name)) {
  check_shape(features, name_);
  // A mean in float32 would do, but one that overflows would hide which row is at fault.
  mean_ = features.mean(0, false, at::kDouble).to(features.scalar_type());
  rows_ = (features - mean_).contiguous();
  squared_norms_ = at::linalg_vector_norm(rows_, 2, at::IntArrayRef{1}).square();
  // One bad number spoils the mean and with it every row: the one at fault is looked for then.
  if (!(squared_norms_ < kLargestSquare).all().item<bool>()) {
    check_lengths(features, name_);
    throw DataError(fmt::format("{}: numbers too far apart to be centred", name_));
  }
  mean_variance_ =
      squared_norms_.sum(at::kDouble).item<double>() / static_cast<double>(size() * width());
  if (rows_.is_cpu() && rows_.scalar_type() == at::kFloat && has_bfloat16_products())
    rounded_.emplace(rows_.const_data_ptr<float>(), size(), width());
}

at::Tensor Points::products(const at::Tensor& columns) const {
  if (rounded_) return rounded_products(*rounded_, size(), columns.contiguous());
  return at::mm(rows_, columns.t());
}

at::Tensor own_distances(const Points& points, const at::Tensor& centroids,
                         const at::Tensor& labels) {
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
