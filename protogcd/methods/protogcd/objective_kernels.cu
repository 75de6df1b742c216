// The objective's terms and their gradients on CUDA, a handful of kernels instead of some hundred:
// a training step is bound by the number of its kernels. Each sum is taken in one order always, so
// that results are the same every time.
#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "protogcd/methods/protogcd/objective_kernels.h"

namespace protogcd {
namespace {

constexpr int kThreads = 128, kLanes = 32, kWarps = kThreads / kLanes;
constexpr int kValues = 8;       // scalars of LossTerms
constexpr float kTiny = 1e-30f;  // as entropy_loss has it

struct Sum {
  static constexpr float kNothing = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Highest {
  static constexpr float kNothing = -INFINITY;
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// Over a block's threads; all of them get the result.
template <class Join>
__device__ float over_block(float value, Join join) {
  __shared__ float parts[kWarps];
  for (int offset = kLanes / 2; offset > 0; offset /= 2)
    value = join(value, __shfl_xor_sync(0xFFFFFFFF, value, offset));
  __syncthreads();  // an earlier result may still be read
  if (threadIdx.x % kLanes == 0) parts[threadIdx.x / kLanes] = value;
  __syncthreads();
  float result = Join::kNothing;
  for (const float part : parts) result = join(result, part);
  return result;
}

/// join over value(i), i = 0 .. count - 1.
template <class Join, class Value>
__device__ float reduced(int count, Join join, const Value& value) {
  float result = Join::kNothing;
  for (int i = threadIdx.x; i < count; i += kThreads) result = join(result, value(i));
  return over_block(result, join);
}

/// log sum exp of value(i).
template <class Value>
__device__ float log_sum(int count, const Value& value) {
  const float highest = reduced(count, Highest(), value);
  return highest + logf(reduced(count, Sum(), [&](int i) { return expf(value(i) - highest); }));
}

/// The highest value and its first place.
struct Top {
  float value = -INFINITY;
  int place = INT_MAX;
  __device__ bool is_before(const Top& other) const {
    return value > other.value || (value == other.value && place < other.place);
  }
};

__device__ Top top_of_block(Top top) {
  __shared__ Top tops[kWarps];
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    const Top other{__shfl_xor_sync(0xFFFFFFFF, top.value, offset),
                    __shfl_xor_sync(0xFFFFFFFF, top.place, offset)};
    if (other.is_before(top)) top = other;
  }
  __syncthreads();
  if (threadIdx.x % kLanes == 0) tops[threadIdx.x / kLanes] = top;
  __syncthreads();
  for (const Top& other : tops)
    if (other.is_before(top)) top = other;
  return top;
}

/// Of the rows' predictions.
struct RowValues {
  float* log_sum;     ///< [2B] of cosines / tau_base
  float* log_sharp;   ///< [2B] of cosines / tau_sharp
  float* confidence;  ///< [2B], Eq. 8
  int* nearest;       ///< [2B] prototype
};

/// A block a row.
__global__ void predict_kernel(const float* cosines, RowValues rows, ObjectiveSettings settings,
                               int classes) {
  const int row = blockIdx.x;
  const float* x = cosines + static_cast<long>(row) * classes;
  const float base = log_sum(classes, [&](int k) { return x[k] / settings.tau_base; });
  const float sharp = log_sum(classes, [&](int k) { return x[k] / settings.tau_sharp; });
  Top own;
  for (int k = threadIdx.x; k < classes; k += kThreads) {
    const Top candidate{x[k], k};
    if (candidate.is_before(own)) own = candidate;
  }
  const Top first = top_of_block(own);
  own = {};
  for (int k = threadIdx.x; k < classes; k += kThreads) {
    const Top candidate{x[k], k};
    if (k != first.place && candidate.is_before(own)) own = candidate;
  }
  const Top second = top_of_block(own);
  if (threadIdx.x != 0) return;
  const float p1 = expf(first.value / settings.tau_sharp - sharp);
  rows.log_sum[row] = base;
  rows.log_sharp[row] = sharp;
  rows.nearest[row] = first.place;
  rows.confidence[row] =
      classes == 1
          ? p1
          : p1 / (expf(second.value / settings.tau_sharp - sharp) + settings.confidence_floor);
}

/// Whose predictions the mean of Eq. 13 is of.
struct CountedRows {
  const float* labelled;  ///< [B]
  int images;
  bool of_unlabelled;
  __device__ float weight(int row) const {
    return of_unlabelled ? 1 - labelled[row % images] : 1.0f;
  }
  __device__ float total() const {
    return of_unlabelled
               ? fmaxf(reduced(2 * images, Sum(), [&](int row) { return weight(row); }), 1)
               : static_cast<float>(2 * images);
  }
};

/// [K] each.
struct Marginal {
  float* batch;    ///< the mean prediction over the rows that count
  float* running;  ///< over several steps
  float* slope;    ///< the entropy term's derivative by the mean prediction
  const float* log_prior;
  float kept_share;
};

/// A block a class.
__global__ void marginal_kernel(const float* cosines, const float* log_sums, CountedRows counted,
                                ObjectiveSettings settings, Marginal marginal, int classes) {
  const int k = blockIdx.x;
  const float total = counted.total();
  const float sum = reduced(2 * counted.images, Sum(), [&](int row) {
    return counted.weight(row) *
           expf(cosines[static_cast<long>(row) * classes + k] / settings.tau_base - log_sums[row]);
  });
  if (threadIdx.x != 0) return;
  const float p = sum / total;
  const float running = marginal.running[k] * marginal.kept_share + p * (1 - marginal.kept_share);
  marginal.batch[k] = p;
  marginal.running[k] = running;
  marginal.slope[k] = logf(fmaxf(running, kTiny)) - marginal.log_prior[k];
}

/// A thread a row: 1 for the most confident of each view, as `most_confident` ranks them.
__global__ void hard_kernel(const float* confidence, const std::int64_t* count,
                            const float* decided, float* hard, int images) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= 2 * images) return;
  const int view = row / images, own = row % images;
  if (decided != nullptr) {
    hard[row] = decided[own];
    return;
  }
  const float* of_view = confidence + view * images;
  std::int64_t before = 0;
  for (int i = 0; i < images; ++i)
    before += of_view[i] > of_view[own] || (of_view[i] == of_view[own] && i < own) ? 1 : 0;
  hard[row] = before < *count ? 1.0f : 0.0f;
}

/// A block a row: the gradient of the terms of Eq. 11, 13 and 16 by its cosines, and its share of
/// 11 and 16.
__global__ void prediction_gradient_kernel(const float* cosines, RowValues rows, const float* hard,
                                           const float* slope, CountedRows counted,
                                           const std::int64_t* labels, const float* labelled,
                                           ObjectiveSettings settings, float* gradient,
                                           float* losses, int images, int classes) {
  const int row = blockIdx.x, count = 2 * images, twin = (row + images) % count,
            image = row % images;
  const long first = static_cast<long>(row) * classes,
             twin_first = static_cast<long>(twin) * classes;
  const float weights = fmaxf(2 * reduced(images, Sum(), [&](int i) { return labelled[i]; }), 1.0f);
  const float is_labelled = labelled[image], is_hard = hard[twin];
  const int label = static_cast<int>(labels[image]), twin_nearest = rows.nearest[twin];
  const float log_sum_of_row = rows.log_sum[row], twin_sharp = rows.log_sharp[twin];
  const auto log_p = [&](int k) { return cosines[first + k] / settings.tau_base - log_sum_of_row; };
  const auto pseudo_label = [&](int k) {  // of the other view
    return is_hard != 0 ? (k == twin_nearest ? 1.0f : 0.0f)
                        : expf(cosines[twin_first + k] / settings.tau_sharp - twin_sharp);
  };
  const float mean_slope =
      reduced(classes, Sum(), [&](int k) { return expf(log_p(k)) * slope[k]; });
  const float cross_view =
      -reduced(classes, Sum(), [&](int k) { return pseudo_label(k) * log_p(k); });
  const float per_row = 1 / static_cast<float>(count);
  const float marginal_share = counted.weight(row) / counted.total();
  for (int k = threadIdx.x; k < classes; k += kThreads) {
    const float p = expf(log_p(k));
    gradient[first + k] =
        (settings.weight_dapl * (p - pseudo_label(k)) * per_row +
         settings.weight_sup * is_labelled * (p - (k == label ? 1.0f : 0.0f)) / weights +
         settings.weight_entropy * p * (slope[k] - mean_slope) * marginal_share) /
        settings.tau_base;
  }
  if (threadIdx.x != 0) return;
  losses[row] = cross_view * per_row;
  losses[count + row] = -log_p(label) * is_labelled / weights;
}

/// A block a row: Eq. 14's share, and the gradient by the similarities of prototypes [K, K].
__global__ void separation_kernel(const float* similarities, ObjectiveSettings settings,
                                  float* gradient, float* losses, int classes) {
  const int row = blockIdx.x;
  const float* s = similarities + static_cast<long>(row) * classes;
  const auto score = [&](int j) { return j == row ? -INFINITY : s[j] / settings.tau_sep; };
  const float total = log_sum(classes, score);
  for (int j = threadIdx.x; j < classes; j += kThreads) {
    gradient[static_cast<long>(row) * classes + j] =
        settings.weight_separation * expf(score(j) - total) /
        (settings.tau_sep * static_cast<float>(classes));
  }
  if (threadIdx.x == 0)
    losses[row] = (total - logf(static_cast<float>(classes - 1))) / static_cast<float>(classes);
}

/// A block a row: the shares of Eq. 4 and 5, and the gradient by the similarities of projections
/// [2B, 2B].
__global__ void contrast_kernel(const float* similarities, const std::int64_t* labels,
                                const float* labelled, ObjectiveSettings settings, float* gradient,
                                float* losses, int images) {
  const int row = blockIdx.x, count = 2 * images, twin = (row + images) % count,
            image = row % images;
  const float* s = similarities + static_cast<long>(row) * count;
  const auto score = [&](int j) { return j == row ? -INFINITY : s[j] / settings.tau_unsup_con; };
  const float total = log_sum(count, score);
  const float per_row = 1 / static_cast<float>(count);

  const float weights = fmaxf(2 * reduced(images, Sum(), [&](int i) { return labelled[i]; }), 1.0f);
  const bool is_labelled = labelled[image] != 0;
  const auto counts = [&](int j) { return j != row && labelled[j % images] != 0; };
  const auto is_positive = [&](int j) { return counts(j) && labels[j % images] == labels[image]; };
  const auto labelled_score = [&](int j) {
    return counts(j) ? s[j] / settings.tau_sup_con : -INFINITY;
  };
  float labelled_total = 0, positives = 0, mean = 0;
  if (is_labelled) {  // the same for all threads; its other view is labelled too, so that nothing
                      // is empty
    labelled_total = log_sum(count, labelled_score);
    positives = reduced(count, Sum(), [&](int j) { return is_positive(j) ? 1.0f : 0.0f; });
    mean =
        reduced(count, Sum(),
                [&](int j) { return is_positive(j) ? labelled_score(j) - labelled_total : 0.0f; }) /
        positives;
  }
  for (int j = threadIdx.x; j < count; j += kThreads) {
    float slope = settings.weight_unsup_con * (expf(score(j) - total) - (j == twin ? 1.0f : 0.0f)) *
                  per_row / settings.tau_unsup_con;
    if (is_labelled) {
      const float share = counts(j) ? expf(labelled_score(j) - labelled_total) : 0.0f;
      slope += settings.weight_sup_con * (share - (is_positive(j) ? 1 / positives : 0.0f)) /
               (weights * settings.tau_sup_con);
    }
    gradient[static_cast<long>(row) * count + j] = slope;
  }
  if (threadIdx.x != 0) return;
  losses[row] = (total - score(twin)) * per_row;
  losses[count + row] = -mean / weights;
}

/// A block a row: unit = x / max(|x|, floor).
__global__ void unit_kernel(const float* x, float* unit, float* norms, int width) {
  const long first = static_cast<long>(blockIdx.x) * width;
  const float squares = reduced(width, Sum(), [&](int i) { return x[first + i] * x[first + i]; });
  const float norm = fmaxf(sqrtf(squares), kUnitFloor);
  for (int i = threadIdx.x; i < width; i += kThreads) unit[first + i] = x[first + i] / norm;
  if (threadIdx.x == 0) norms[blockIdx.x] = norm;
}

/// A block a row: g becomes the gradient by x, where it was that by x / |x|.
__global__ void unit_gradient_kernel(const float* unit, const float* norms, float* g, int width) {
  const long first = static_cast<long>(blockIdx.x) * width;
  const float norm = norms[blockIdx.x];
  const bool is_floored = norm <= kUnitFloor;
  const float along =
      is_floored ? 0 : reduced(width, Sum(), [&](int i) { return g[first + i] * unit[first + i]; });
  for (int i = threadIdx.x; i < width; i += kThreads)
    g[first + i] = (g[first + i] - along * unit[first + i]) / norm;
}

struct Partial {
  const float* predictions;  ///< [2, 2B] of Eq. 11 and 16
  const float* contrasts;    ///< [2, 2B] of Eq. 4 and 5
  const float* separations;  ///< [K]
  const float *hard, *marginal, *slope;
};

/// One block: the scalars of LossTerms, in its order.
__global__ void sum_kernel(Partial from, ObjectiveSettings settings, int rows, int classes,
                           float* values) {
  const auto sum = [&](const float* parts, int count) {
    return reduced(count, Sum(), [&](int i) { return parts[i]; });
  };
  const float dapl = sum(from.predictions, rows), sup = sum(from.predictions + rows, rows);
  const float unsup_con = sum(from.contrasts, rows), sup_con = sum(from.contrasts + rows, rows);
  const float separation = classes == 1 ? 0 : sum(from.separations, classes);
  const float entropy =
      reduced(classes, Sum(), [&](int k) { return from.marginal[k] * from.slope[k]; });
  const float hard = sum(from.hard, rows) / static_cast<float>(rows);
  if (threadIdx.x != 0) return;
  const float total = settings.weight_dapl * dapl + settings.weight_sup * sup +
                      settings.weight_entropy * entropy + settings.weight_separation * separation +
                      settings.weight_unsup_con * unsup_con + settings.weight_sup_con * sup_con;
  const float all[] = {total, sup, dapl, entropy, separation, unsup_con, sup_con, hard};
  for (int i = 0; i < kValues; ++i) values[i] = all[i];
}

const float* floats(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

}  // namespace

ObjectiveGradients objective_on_cuda(const HeadOutput& output, const StepBatch& batch,
                                     const HardChoice& choice, const MarginalTarget& target,
                                     const ObjectiveSettings& settings) {
  const c10::cuda::CUDAGuard guard(output.cosines.device());
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream();
  const at::Tensor cosines = output.cosines.contiguous(),
                   projections = output.projections.contiguous(),
                   prototypes = output.prototypes.contiguous();
  const int rows = static_cast<int>(cosines.size(0)), classes = static_cast<int>(cosines.size(1)),
            images = rows / 2, width = static_cast<int>(projections.size(1));
  const auto blocks = static_cast<unsigned>(rows), class_blocks = static_cast<unsigned>(classes);
  const auto make = [&](at::IntArrayRef shape) { return at::empty(shape, cosines.options()); };
  const auto* labels = batch.labels.const_data_ptr<std::int64_t>();
  const float* labelled = floats(batch.labelled);

  at::Tensor row_values = make({3, rows}),
             nearest = at::empty({rows}, cosines.options().dtype(at::kInt)), hard = make({rows}),
             marginal = make({2, classes}), prediction_losses = make({2, rows}),
             contrast_losses = make({2, rows}), separation_losses = make({classes}),
             values = make({kValues});
  auto* first = row_values.data_ptr<float>();
  const RowValues predicted{first, first + rows, first + 2 * rows, nearest.data_ptr<int>()};
  const CountedRows counted{labelled, images, target.of_unlabelled};
  at::Tensor running = target.running;
  const Marginal means{.batch = marginal.data_ptr<float>(),
                       .running = running.data_ptr<float>(),
                       .slope = marginal.data_ptr<float>() + classes,
                       .log_prior = floats(target.log_prior),
                       .kept_share = target.kept_share};
  predict_kernel<<<blocks, kThreads, 0, stream>>>(floats(cosines), predicted, settings, classes);
  marginal_kernel<<<class_blocks, kThreads, 0, stream>>>(floats(cosines), predicted.log_sum,
                                                         counted, settings, means, classes);
  hard_kernel<<<(blocks + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      predicted.confidence, choice.count.const_data_ptr<std::int64_t>(), floats(choice.decided),
      hard.data_ptr<float>(), images);
  ObjectiveGradients result;
  result.cosines = at::empty_like(cosines);
  prediction_gradient_kernel<<<blocks, kThreads, 0, stream>>>(
      floats(cosines), predicted, floats(hard), means.slope, counted, labels, labelled, settings,
      result.cosines.data_ptr<float>(), prediction_losses.data_ptr<float>(), images, classes);

  // With S = U U^T and G the gradient by S, that by U is (G + G^T) U.
  const auto through_products = [](const at::Tensor& g, const at::Tensor& u) {
    return at::addmm(at::mm(g, u), g.t(), u);
  };
  if (classes > 1) {
    const at::Tensor similarities = at::mm(prototypes, prototypes.t());
    at::Tensor slopes = at::empty_like(similarities);
    separation_kernel<<<class_blocks, kThreads, 0, stream>>>(
        floats(similarities), settings, slopes.data_ptr<float>(),
        separation_losses.data_ptr<float>(), classes);
    result.prototypes = through_products(slopes, prototypes);
  } else {
    result.prototypes = at::zeros_like(prototypes);
  }

  at::Tensor unit = at::empty_like(projections), norms = make({rows});
  unit_kernel<<<blocks, kThreads, 0, stream>>>(floats(projections), unit.data_ptr<float>(),
                                               norms.data_ptr<float>(), width);
  const at::Tensor similarities = at::mm(unit, unit.t());
  at::Tensor slopes = at::empty_like(similarities);
  contrast_kernel<<<blocks, kThreads, 0, stream>>>(floats(similarities), labels, labelled, settings,
                                                   slopes.data_ptr<float>(),
                                                   contrast_losses.data_ptr<float>(), images);
  result.projections = through_products(slopes, unit);
  unit_gradient_kernel<<<blocks, kThreads, 0, stream>>>(
      floats(unit), floats(norms), result.projections.data_ptr<float>(), width);

  sum_kernel<<<1, kThreads, 0, stream>>>(
      {floats(prediction_losses), floats(contrast_losses), floats(separation_losses), floats(hard),
       means.batch, means.slope},
      settings, rows, classes, values.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  LossTerms& terms = result.terms;
  at::Tensor* scalars[kValues] = {&terms.total,   &terms.sup,        &terms.dapl,
                                  &terms.entropy, &terms.separation, &terms.unsup_con,
                                  &terms.sup_con, &terms.hard_share};
  for (int i = 0; i < kValues; ++i) *scalars[i] = values[i];
  terms.marginal = marginal[0];
  return result;
}

}  // namespace protogcd
