#include "protogcd/cluster/int8_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace protogcd {
namespace {

std::vector<float> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (float& number : numbers) number = normal(random);
  return numbers;
}

/// Rounded to multiples of a 127th of the largest, in float64.
std::vector<double> plainly_rounded(const float* values, std::int64_t width) {
  float largest = 0;
  for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, std::abs(values[i]));
  std::vector<double> rounded;
  for (std::int64_t i = 0; i < width; ++i) {
    rounded.push_back(largest > 0 ? std::nearbyint(values[i] * (127 / largest)) * largest / 127
                                  : 0);
  }
  return rounded;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Int8Rows int8_rows(const std::vector<float>& values, std::int64_t width) {
  const std::int64_t count = std::ssize(values) / width;
  Int8Rows rows(count, width);
  for (std::int64_t i = 0; i < count; ++i) rows.set(i, values.data() + i * width);
  return rows;
}

TEST(Int8Rows, ProductsAreThoseOfAPlainLoop) {
  for (const std::int64_t width : {16, 17, 31, 64, 66, 67, 768}) {
    if (!has_int8_products(width)) GTEST_SKIP() << "no AVX512-VNNI";
    const std::vector<float> left = random_numbers(9 * width, 1);
    const Int8Rows rows = int8_rows(left, width);
    for (const std::int64_t count : {1, 16, 17, 63, 64, 65, 100, 130}) {
      const std::vector<float> right = random_numbers(count * width, 2),
                               bias = random_numbers(count, 3);
      const Int8Columns columns(right.data(), bias.data(), count, width);
      const std::array<std::int64_t, kProductRows> numbers{8, 0, 3, 3, 5, 1};
      std::vector<float> products(static_cast<std::size_t>(kProductRows * columns.stride()));
      int8_products(rows, numbers, columns, products.data());
      for (std::int64_t r = 0; r < kProductRows; ++r) {
        const auto row =
            plainly_rounded(left.data() + numbers[static_cast<std::size_t>(r)] * width, width);
        for (std::int64_t c = 0; c < count; ++c) {
          const auto column = plainly_rounded(right.data() + c * width, width);
          const double expected = bias[static_cast<std::size_t>(c)] + dot(row, column);
          const double size = std::sqrt(dot(row, row) * dot(column, column));
          ASSERT_NEAR(products[static_cast<std::size_t>(r * columns.stride() + c)], expected,
                      1e-6 * (size + 1))
              << width << ", row " << r << ", column " << c << " of " << count;
        }
      }
    }
  }
}

TEST(Int8Rows, WhatRoundingLostIsKnown) {
  for (const std::int64_t width : {1, 16, 45, 768}) {
    const std::vector<float> values = random_numbers(5 * width, 4), bias(5);
    const Int8Rows rows = int8_rows(values, width);
    const Int8Columns columns(values.data(), bias.data(), 5, width);
    for (std::int64_t i = 0; i < 5; ++i) {
      const auto rounded = plainly_rounded(values.data() + i * width, width);
      double lost = 0;
      for (std::int64_t j = 0; j < width; ++j)
        lost += std::pow(
            values[static_cast<std::size_t>(i * width + j)] - rounded[static_cast<std::size_t>(j)],
            2);
      const double square = dot(rounded, rounded);
      EXPECT_NEAR(rows.residual(i), std::sqrt(lost), 1e-6 * std::sqrt(square));
      EXPECT_NEAR(columns.residual(i), std::sqrt(lost), 1e-6 * std::sqrt(square));
      EXPECT_NEAR(rows.square(i), square, 1e-6 * square);
      EXPECT_NEAR(columns.square(i), square, 1e-6 * square);
    }
  }
}

TEST(Int8Rows, RowsAreAddedAsAPlainLoopDoes) {
  constexpr std::int64_t kWidth = 77;
  if (!has_int8_products(kWidth)) GTEST_SKIP() << "no AVX512-VNNI";
  const std::vector<float> values = random_numbers(3 * kWidth, 5);
  const Int8Rows rows = int8_rows(values, kWidth);
  const std::vector<float> before = random_numbers(kWidth, 6);
  for (const auto& [begin, end] : {std::array<std::int64_t, 2>{0, kWidth}, {5, 6}, {16, 64}}) {
    std::vector<float> sums = before;
    add_int8_row(rows, 1, begin, end, sums.data());
    const auto row = plainly_rounded(values.data() + kWidth, kWidth);
    for (std::int64_t j = 0; j < kWidth; ++j) {
      const auto i = static_cast<std::size_t>(j);
      EXPECT_NEAR(sums[i], before[i] + (j >= begin && j < end ? row[i] : 0), 1e-6) << j;
    }
  }
}

TEST(Int8Rows, ARowOfZerosHasProductsOfZero) {
  constexpr std::int64_t kWidth = 16;
  if (!has_int8_products(kWidth)) GTEST_SKIP() << "no AVX512-VNNI";
  const std::vector<float> zeros(kWidth), bias(1), column = random_numbers(kWidth, 7);
  const Int8Rows rows = int8_rows(zeros, kWidth);
  std::vector<float> products(16 * kProductRows, 1);
  int8_products(rows, std::array<std::int64_t, kProductRows>{},
                Int8Columns(column.data(), bias.data(), 1, kWidth), products.data());
  EXPECT_EQ(products[0], 0);
  EXPECT_EQ(rows.residual(0), 0);
}

}  // namespace
}  // namespace protogcd
