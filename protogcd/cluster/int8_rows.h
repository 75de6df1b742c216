// Rows rounded to int8, and their products with a few columns on CPUs that have AVX512-VNNI: four
// times the speed and a quarter of the memory of float32. What rounding lost is known for every
// row, so that a caller can tell which comparisons of products are certain and which must be made
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace protogcd {

/// Whether this CPU and this build have the kernels for such rows: narrow ones are as fast in
/// float32, and sums of more than 65536 products might not fit 32 bits.
bool has_int8_products(std::int64_t width);

/// Rows as the kernels read them: bytes 128 + q, where q in [-127, 127] times the row's scale is
/// the rounded number. Widths are filled up to a multiple of four with zeros.
class Int8Rows {
 public:
  /// Without numbers: set() gives them.
  Int8Rows(std::int64_t rows, std::int64_t width);

  /// Rounds a row; threads may set different rows at the same time.
  void set(std::int64_t index, const float* values);

  std::int64_t quads() const { return quads_; }
  const std::uint8_t* row(std::int64_t index) const { return bytes_.get() + index * 4 * quads_; }
  float scale(std::int64_t index) const { return scales_[static_cast<std::size_t>(index)]; }
  /// |row - rounded row|.
  float residual(std::int64_t index) const { return residuals_[static_cast<std::size_t>(index)]; }
  /// |rounded row|^2.
  float square(std::int64_t index) const { return squares_[static_cast<std::size_t>(index)]; }

 private:
  std::int64_t width_, quads_;
  std::unique_ptr<std::uint8_t[]> bytes_;  ///< not a vector, which one thread would fill with zeros
  std::vector<float> scales_, residuals_, squares_;
};

/// Columns (centroids, say), rounded as rows are, in the order in which the kernel takes them.
class Int8Columns {
 public:
  /// values [count, width]; `bias` [count] is added to every product with its column.
  Int8Columns(const float* values, const float* bias, std::int64_t count, std::int64_t width);

  std::int64_t quads() const { return quads_; }
  /// Numbers that a row of products takes: the count of columns, rounded up to whole registers.
  std::int64_t stride() const { return 16 * tiles_; }
  std::int64_t tiles() const { return tiles_; }
  /// Tiles (16 columns each) `first` and on, [quads, tiles of this group, 16] words of four q.
  const std::uint32_t* words(std::int64_t first_tile) const {
    return words_.data() + first_tile * 16 * quads_;
  }
  const float* bias(std::int64_t first_tile) const { return bias_.data() + 16 * first_tile; }
  const float* scales(std::int64_t first_tile) const { return scales_.data() + 16 * first_tile; }
  /// -128 times the sums of q: what makes up for the 128 in a row's bytes.
  const std::int32_t* offsets(std::int64_t first_tile) const {
    return offsets_.data() + 16 * first_tile;
  }
  /// |column - rounded column|.
  float residual(std::int64_t index) const { return residuals_[static_cast<std::size_t>(index)]; }
  /// |rounded column|^2.
  float square(std::int64_t index) const { return squares_[static_cast<std::size_t>(index)]; }

 private:
  std::int64_t quads_, tiles_;
  std::vector<std::uint32_t> words_;
  std::vector<float> bias_, scales_, residuals_, squares_;
  std::vector<std::int32_t> offsets_;
};

/// Rows that the kernel takes at a time, and tiles that it takes together.
constexpr std::int64_t kProductRows = 6, kProductTiles = 4;

/// products[r][c] = bias_c + row_r . column_c for six rows by number, sums of the rounded numbers
/// exact; [kProductRows, columns.stride()]. Only where has_int8_products().
void int8_products(const Int8Rows& rows, std::span<const std::int64_t, kProductRows> numbers,
                   const Int8Columns& columns, float* products);

/// Adds numbers `begin` to `end` of a rounded row to sums [width]. Only where has_int8_products().
void add_int8_row(const Int8Rows& rows, std::int64_t number, std::int64_t begin, std::int64_t end,
                  float* sums);

}  // namespace protogcd
