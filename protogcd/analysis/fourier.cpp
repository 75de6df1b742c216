#include "protogcd/analysis/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

/// One stage of Stockham's algorithm, which sorts as it goes: from [radix, groups, stride] to
/// [groups, radix, stride], with a transform over the radix and a rotation by p k of `groups`.
/// Strides include the 16 lanes, so that inner loops run over numbers that lie side by side.
struct RunStage {
  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void run(const FourierPlan::Stage* stage, ComplexLanes from,
                                  ComplexLanes to) {
    const std::size_t run = stage->stride * FourierPlan::kLanes, far = run * stage->groups;
    for (std::size_t p = 0; p < stage->groups; ++p) {
      const float* rotation = stage->twiddles.data() + p * 2 * (stage->radix - 1);
      const std::size_t in = p * run, out = p * run * stage->radix;
      const ComplexLanes a{from.real + in, from.imaginary + in};
      const ComplexLanes b{to.real + out, to.imaginary + out};
      if (stage->radix == 4) {
        four<kBytes>(a, far, b, run, rotation);
      } else if (stage->radix == 3) {
        three<kBytes>(a, far, b, run, rotation);
      } else {
        two<kBytes>(a, far, b, run, rotation);
      }
    }
  }

  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void four(ComplexLanes a, std::size_t far, ComplexLanes b, std::size_t run,
                                   const float* w) {
    using Floats = FloatVector<kBytes>;
    for (std::size_t i = 0; i < run; i += Floats::kCount) {
      const typename Floats::Type r0 = Floats::at(a.real + i), r1 = Floats::at(a.real + far + i),
                                  r2 = Floats::at(a.real + 2 * far + i),
                                  r3 = Floats::at(a.real + 3 * far + i);
      const typename Floats::Type i0 = Floats::at(a.imaginary + i),
                                  i1 = Floats::at(a.imaginary + far + i),
                                  i2 = Floats::at(a.imaginary + 2 * far + i),
                                  i3 = Floats::at(a.imaginary + 3 * far + i);
      const typename Floats::Type sum_r = r0 + r2, sum_i = i0 + i2, less_r = r0 - r2,
                                  less_i = i0 - i2, odd_r = r1 + r3, odd_i = i1 + i3,
                                  turn_r = i1 - i3, turn_i = r3 - r1;  // -i (a1 - a3)
      Floats::at(b.real + i) = sum_r + odd_r;
      Floats::at(b.imaginary + i) = sum_i + odd_i;
      const typename Floats::Type x1 = less_r + turn_r, y1 = less_i + turn_i, x2 = sum_r - odd_r,
                                  y2 = sum_i - odd_i, x3 = less_r - turn_r, y3 = less_i - turn_i;
      Floats::at(b.real + run + i) = x1 * w[0] - y1 * w[1];
      Floats::at(b.imaginary + run + i) = x1 * w[1] + y1 * w[0];
      Floats::at(b.real + 2 * run + i) = x2 * w[2] - y2 * w[3];
      Floats::at(b.imaginary + 2 * run + i) = x2 * w[3] + y2 * w[2];
      Floats::at(b.real + 3 * run + i) = x3 * w[4] - y3 * w[5];
      Floats::at(b.imaginary + 3 * run + i) = x3 * w[5] + y3 * w[4];
    }
  }

  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void three(ComplexLanes a, std::size_t far, ComplexLanes b,
                                    std::size_t run, const float* w) {
    using Floats = FloatVector<kBytes>;
    constexpr float kSine = 0.866025403784438647F;
    for (std::size_t i = 0; i < run; i += Floats::kCount) {
      const typename Floats::Type r0 = Floats::at(a.real + i), r1 = Floats::at(a.real + far + i),
                                  r2 = Floats::at(a.real + 2 * far + i);
      const typename Floats::Type i0 = Floats::at(a.imaginary + i),
                                  i1 = Floats::at(a.imaginary + far + i),
                                  i2 = Floats::at(a.imaginary + 2 * far + i);
      const typename Floats::Type sum_r = r1 + r2, sum_i = i1 + i2, turn_r = kSine * (i1 - i2),
                                  turn_i = kSine * (r2 - r1);
      Floats::at(b.real + i) = r0 + sum_r;
      Floats::at(b.imaginary + i) = i0 + sum_i;
      const typename Floats::Type half_r = r0 - 0.5F * sum_r, half_i = i0 - 0.5F * sum_i;
      const typename Floats::Type x1 = half_r + turn_r, y1 = half_i + turn_i, x2 = half_r - turn_r,
                                  y2 = half_i - turn_i;
      Floats::at(b.real + run + i) = x1 * w[0] - y1 * w[1];
      Floats::at(b.imaginary + run + i) = x1 * w[1] + y1 * w[0];
      Floats::at(b.real + 2 * run + i) = x2 * w[2] - y2 * w[3];
      Floats::at(b.imaginary + 2 * run + i) = x2 * w[3] + y2 * w[2];
    }
  }

  template <int kBytes>
  PROTOGCD_INLINE_KERNEL void two(ComplexLanes a, std::size_t far, ComplexLanes b, std::size_t run,
                                  const float* w) {
    using Floats = FloatVector<kBytes>;
    for (std::size_t i = 0; i < run; i += Floats::kCount) {
      const typename Floats::Type r0 = Floats::at(a.real + i), r1 = Floats::at(a.real + far + i);
      const typename Floats::Type i0 = Floats::at(a.imaginary + i),
                                  i1 = Floats::at(a.imaginary + far + i);
      Floats::at(b.real + i) = r0 + r1;
      Floats::at(b.imaginary + i) = i0 + i1;
      const typename Floats::Type x = r0 - r1, y = i0 - i1;
      Floats::at(b.real + run + i) = x * w[0] - y * w[1];
      Floats::at(b.imaginary + run + i) = x * w[1] + y * w[0];
    }
  }
};

}  // namespace

FourierPlan::FourierPlan(std::size_t size, VectorWidth width) : size_(size), width_(width) {
  for (std::size_t left = size, stride = 1; left > 1;) {
    const std::size_t radix = left % 4 == 0 ? 4 : left % 3 == 0 ? 3 : 2;
    if (left % radix != 0) throw InternalError("FourierPlan: not a product of twos and threes");
    Stage stage{.radix = radix, .groups = left / radix, .stride = stride, .twiddles = {}};
    for (std::size_t p = 0; p < stage.groups; ++p) {
      for (std::size_t k = 1; k < radix; ++k) {
        const double angle =
            -2 * std::numbers::pi * static_cast<double>(p * k) / static_cast<double>(left);
        stage.twiddles.push_back(static_cast<float>(std::cos(angle)));
        stage.twiddles.push_back(static_cast<float>(std::sin(angle)));
      }
    }
    stages_.push_back(std::move(stage));
    left /= radix;
    stride *= radix;
  }
}

ComplexLanes FourierPlan::transform(ComplexLanes values, ComplexLanes spare) const {
  for (const Stage& stage : stages_) {
    run_kernel<RunStage>(width_, &stage, values, spare);
    std::swap(values, spare);
  }
  return values;
}

std::size_t fourier_size(std::size_t size) {
  std::size_t best = 2;
  while (best < size) best *= 2;
  for (std::size_t threes = 3; threes < best; threes *= 3) {
    std::size_t candidate = 2 * threes;
    while (candidate < size) candidate *= 2;
    if (candidate < best) best = candidate;
  }
  return best;
}

}  // namespace protogcd
