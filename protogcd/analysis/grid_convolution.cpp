#include "protogcd/analysis/grid_convolution.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numbers>

namespace protogcd {
namespace {

struct Buffers {
  ComplexLanes values, spare;

  Buffers(float* scratch, std::size_t numbers)
      : values{scratch, scratch + numbers}, spare{scratch + 2 * numbers, scratch + 3 * numbers} {}
};

ComplexLanes exchanged(ComplexLanes lanes) {
  return {lanes.imaginary, lanes.real};
}

}  // namespace

void GridConvolution::resize(Spectrum& spectrum, std::size_t nodes) const {
  spectrum.nodes = nodes;
  spectrum.real.assign(frequency_blocks() * spectrum.rows() * kLanes, 0.0F);
  spectrum.imaginary.assign(spectrum.real.size(), 0.0F);
}

/// A worker takes block after block with scratch of its own.
void GridConvolution::for_each_block(std::size_t count,
                                     const std::function<void(std::size_t, float* scratch)>& body) {
  std::atomic<std::size_t> next{0};
  pool_.for_each(scratch_.size(), [&](std::size_t worker) {
    for (std::size_t block; (block = next++) < count;) body(block, scratch_[worker].data());
  });
}

/// Row l of the block is the real part of a sequence, row 16 + l its imaginary part; the transform
/// z of both is taken apart: a_k = (z_k + conj z_-k) / 2, b_k = (z_k - conj z_-k) / 2i.
void GridConvolution::rows_to_spectrum(const float* block_values, std::size_t block,
                                       Spectrum& spectrum, float* scratch) const {
  const std::size_t size = plan_->size(), rows = spectrum.rows();
  const Buffers buffers(scratch, size * kLanes);
  for (std::size_t x = 0; x < spectrum.nodes; ++x) {
    std::copy_n(block_values + x * kRows, kLanes, buffers.values.real + x * kLanes);
    std::copy_n(block_values + x * kRows + kLanes, kLanes, buffers.values.imaginary + x * kLanes);
  }
  const std::size_t filled = spectrum.nodes * kLanes, all = size * kLanes;
  std::fill(buffers.values.real + filled, buffers.values.real + all, 0.0F);
  std::fill(buffers.values.imaginary + filled, buffers.values.imaginary + all, 0.0F);
  const ComplexLanes z = plan_->transform(buffers.values, buffers.spare);
  for (std::size_t k = 0; k <= size / 2; ++k) {
    const std::size_t here = k * kLanes, mirrored = (size - k) % size * kLanes;
    float* real = spectrum.real.data() + (k / kLanes * rows + block * kRows) * kLanes + k % kLanes;
    float* imaginary = spectrum.imaginary.data() + (real - spectrum.real.data());
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float zr = z.real[here + l], zi = z.imaginary[here + l];
      const float mr = z.real[mirrored + l], mi = z.imaginary[mirrored + l];
      real[l * kLanes] = (zr + mr) / 2;
      imaginary[l * kLanes] = (zi - mi) / 2;
      real[(kLanes + l) * kLanes] = (zi + mi) / 2;
      imaginary[(kLanes + l) * kLanes] = (mr - zr) / 2;
    }
  }
}

void GridConvolution::multiply_columns(std::size_t block, float* scratch) {
  const std::size_t all = plan_->size() * kLanes, filled = spectrum_.rows() * kLanes;
  const Buffers buffers(scratch, all);
  float* real = spectrum_.real.data() + block * filled;
  float* imaginary = spectrum_.imaginary.data() + block * filled;
  const std::size_t used = nodes_ * kLanes;
  std::copy_n(real, used, buffers.values.real);
  std::copy_n(imaginary, used, buffers.values.imaginary);
  std::fill(buffers.values.real + used, buffers.values.real + all, 0.0F);
  std::fill(buffers.values.imaginary + used, buffers.values.imaginary + all, 0.0F);
  const ComplexLanes z = plan_->transform(buffers.values, buffers.spare);
  const float* kernel = kernel_.data() + block * all;
  for (std::size_t i = 0; i < all; ++i) z.real[i] *= kernel[i];
  for (std::size_t i = 0; i < all; ++i) z.imaginary[i] *= kernel[i];
  const ComplexLanes other = z.real == buffers.values.real ? buffers.spare : buffers.values;
  const ComplexLanes back = exchanged(plan_->transform(exchanged(z), exchanged(other)));
  std::copy_n(back.real, used, real);
  std::copy_n(back.imaginary, used, imaginary);
}

/// The way back of rows_to_spectrum: z_k = a_k + i b_k, z_-k = conj a_k + i conj b_k.
void GridConvolution::spectrum_to_rows(std::size_t block, float* scratch) {
  const std::size_t size = plan_->size(), rows = spectrum_.rows();
  const Buffers buffers(scratch, size * kLanes);
  const ComplexLanes z = buffers.values;
  for (std::size_t k = 0; k <= size / 2; ++k) {
    const std::size_t here = k * kLanes, mirrored = (size - k) % size * kLanes;
    const std::size_t from = (k / kLanes * rows + block * kRows) * kLanes + k % kLanes;
    const float *real = spectrum_.real.data() + from,
                *imaginary = spectrum_.imaginary.data() + from;
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float ar = real[l * kLanes], ai = imaginary[l * kLanes];
      const float br = real[(kLanes + l) * kLanes], bi = imaginary[(kLanes + l) * kLanes];
      z.real[mirrored + l] = ar + bi;
      z.imaginary[mirrored + l] = br - ai;
      z.real[here + l] = ar - bi;
      z.imaginary[here + l] = ai + br;
    }
  }
  const ComplexLanes back = exchanged(plan_->transform(exchanged(z), exchanged(buffers.spare)));
  float* out = values_.data() + block * nodes_ * kRows;
  for (std::size_t x = 0; x < nodes_; ++x) {
    std::copy_n(back.real + x * kLanes, kLanes, out + x * kRows);
    std::copy_n(back.imaginary + x * kLanes, kLanes, out + x * kRows + kLanes);
  }
}

void GridConvolution::set_kernel(std::size_t nodes,
                                 const std::function<double(double, double)>& kernel,
                                 const std::function<double(double)>& filter) {
  const std::size_t size = 2 * nodes;
  if (!plan_ || plan_->size() != size) plan_ = std::make_unique<FourierPlan>(size);
  nodes_ = nodes;
  scratch_.assign(pool_.size(), std::vector<float>(4 * size * kLanes));
  resize(spectrum_, nodes);
  values_.assign(spectrum_.rows() * nodes, 0.0F);
  kernel_.resize(frequency_blocks() * size * kLanes);

  Spectrum spectrum;  // of the kernel on the whole doubled grid, on which it is even
  resize(spectrum, size);
  const auto distance = [&](std::size_t node) {
    return static_cast<double>(std::min(node, size - node));
  };
  for_each_block(spectrum.rows() / kRows, [&](std::size_t block, float* scratch) {
    std::vector<float> rows(size * kRows, 0.0F);
    for (std::size_t x = 0; x < size; ++x)
      for (std::size_t l = 0; l < kRows && block * kRows + l < size; ++l)
        rows[x * kRows + l] = static_cast<float>(kernel(distance(x), distance(block * kRows + l)));
    rows_to_spectrum(rows.data(), block, spectrum, scratch);
  });
  std::vector<double> factors;
  for (std::size_t k = 0; k < size; ++k)
    factors.push_back(filter(2 * std::numbers::pi * distance(k) / static_cast<double>(size)) /
                      static_cast<double>(size));
  for_each_block(frequency_blocks(), [&](std::size_t block, float* scratch) {
    const Buffers buffers(scratch, size * kLanes);
    const std::size_t from = block * spectrum.rows() * kLanes;
    std::copy_n(spectrum.real.data() + from, size * kLanes, buffers.values.real);
    std::copy_n(spectrum.imaginary.data() + from, size * kLanes, buffers.values.imaginary);
    const ComplexLanes z = plan_->transform(buffers.values, buffers.spare);
    for (std::size_t y = 0; y < size; ++y)
      for (std::size_t l = 0; l < kLanes; ++l)
        kernel_[(block * size + y) * kLanes + l] = static_cast<float>(
            z.real[y * kLanes + l] * factors[y] * factors[(block * kLanes + l) % size]);
  });
}

void GridConvolution::convolve() {
  const std::size_t row_blocks = spectrum_.rows() / kRows;
  for_each_block(row_blocks, [&](std::size_t block, float* scratch) {
    rows_to_spectrum(values_.data() + block * nodes_ * kRows, block, spectrum_, scratch);
  });
  for_each_block(frequency_blocks(),
                 [&](std::size_t block, float* scratch) { multiply_columns(block, scratch); });
  for_each_block(row_blocks,
                 [&](std::size_t block, float* scratch) { spectrum_to_rows(block, scratch); });
}

}  // namespace protogcd
