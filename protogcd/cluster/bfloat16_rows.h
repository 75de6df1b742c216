// Rows rounded to bfloat16, and their products with a few columns on CPUs that have AVX512-BF16:
// twice the speed and half the memory of float32. What rounding lost is known for every row, so
// that a caller can tell which comparisons of products are certain and which must be made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace protogcd {

/// Whether this CPU and this build have the kernel.
bool has_bfloat16_products();

/// Rows as the kernel reads them: pairs of neighbouring numbers in one 32-bit word.
class Bfloat16Rows {
 public:
  /// An odd width is filled up with a zero.
  Bfloat16Rows(const float* values, std::int64_t rows, std::int64_t width);

  std::int64_t pairs() const { return pairs_; }
  const std::uint32_t* row(std::int64_t index) const { return words_.get() + index * pairs_; }
  /// |row - rounded row|, [N].
  const std::vector<float>& residuals() const { return residuals_; }

 private:
  std::int64_t pairs_;
  std::unique_ptr<std::uint32_t[]>
      words_;  ///< not a vector, which one thread would fill with zeros
  std::vector<float> residuals_;
};

/// Columns (centroids, say) in the order in which the kernel takes them.
class Bfloat16Columns {
 public:
  /// values [count, width]; `bias` [count] is added to every product with its column.
  Bfloat16Columns(const float* values, const float* bias, std::int64_t count, std::int64_t width);

  std::int64_t pairs() const { return pairs_; }
  /// Numbers that a row of products takes: the count of columns, rounded up to whole registers.
  std::int64_t stride() const { return 16 * tiles_; }
  std::int64_t tiles() const { return tiles_; }
  /// Tiles (16 columns each) `first` and on, [pairs, tiles of this group, 16] words.
  const std::uint32_t* words(std::int64_t first_tile) const {
    return words_.data() + first_tile * 16 * pairs_;
  }
  const float* bias(std::int64_t first_tile) const { return bias_.data() + 16 * first_tile; }
  float largest_residual() const { return largest_residual_; }

 private:
  std::int64_t pairs_, tiles_;
  std::vector<std::uint32_t> words_;
  std::vector<float> bias_;
  float largest_residual_;
};

/// Rows that the kernel takes at a time, and tiles that it takes together.
constexpr std::int64_t kProductRows = 6, kProductTiles = 4;

/// products[r][c] = bias_c + row_r . column_c, sums in float32; [kProductRows, columns.stride()].
/// Only where has_bfloat16_products().
void bfloat16_products(std::span<const std::uint32_t* const, kProductRows> rows,
                       const Bfloat16Columns& columns, float* products);

}  // namespace protogcd
