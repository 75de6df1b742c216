// The convolution of numbers on a square grid with an even kernel, by Fourier transforms of twice
// the grid's side, so that nothing wraps around.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "protogcd/analysis/fourier.h"
#include "protogcd/core/thread_pool.h"

namespace protogcd {

class GridConvolution {
 public:
  explicit GridConvolution(ThreadPool& pool) : pool_(pool) {}

  /// The largest grid for the transform that `nodes` needs; where it is this grid already, a kernel
  /// that was set is still good.
  static std::size_t rounded_nodes(std::size_t nodes) { return fourier_size(2 * nodes) / 2; }

  /// `kernel(dx, dy)` for differences of nodes from 0 to `nodes`; `filter(angle)`, the factor of a
  /// frequency along one axis (angles from -pi to pi).
  void set_kernel(std::size_t nodes, const std::function<double(double, double)>& kernel,
                  const std::function<double(double)>& filter);
  std::size_t nodes() const { return nodes_; }

  /// Where the number of node (x, y) lies in `values`: in blocks of 32 rows, [x, 32].
  std::size_t index(std::size_t x, std::size_t y) const {
    return ((y / kRows) * nodes_ + x) * kRows + y % kRows;
  }
  std::vector<float>& values() { return values_; }
  const std::vector<float>& values() const { return values_; }
  /// Replaces the values. The same result whatever the number of threads.
  void convolve();

 private:
  static constexpr std::size_t kLanes = FourierPlan::kLanes;
  static constexpr std::size_t kRows = 2 * kLanes;  ///< two real rows in one complex transform

  /// A grid's rows by frequency: per 16 frequencies [rows, 16].
  struct Spectrum {
    std::size_t nodes = 0;
    std::vector<float> real, imaginary;
    std::size_t rows() const { return (nodes + kRows - 1) / kRows * kRows; }
  };

  std::size_t frequency_blocks() const { return (plan_->size() / 2 + kLanes) / kLanes; }
  void resize(Spectrum& spectrum, std::size_t nodes) const;
  void for_each_block(std::size_t count,
                      const std::function<void(std::size_t, float* scratch)>& body);
  void rows_to_spectrum(const float* block_values, std::size_t block, Spectrum& spectrum,
                        float* scratch) const;
  void multiply_columns(std::size_t block, float* scratch);
  void spectrum_to_rows(std::size_t block, float* scratch);

  ThreadPool& pool_;
  std::size_t nodes_ = 0;
  std::unique_ptr<FourierPlan> plan_;
  std::vector<float> values_;  ///< [row blocks, nodes, 32]
  std::vector<float> kernel_;  ///< real, per 16 frequencies of rows [size, 16]
  Spectrum spectrum_;
  std::vector<std::vector<float>> scratch_;  ///< of each worker: two complex [size, 16]
};

}  // namespace protogcd
