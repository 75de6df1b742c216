#include "protogcd/engine/cpu_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "protogcd/engine/attention_kernel.h"

#ifdef PROTOGCD_ATTENTION_KERNEL
#include <cpuid.h>
#endif

namespace protogcd {

at::Tensor attend_plain(const at::Tensor& qkv, std::int64_t heads) {
  const std::int64_t batch = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  const auto parts = qkv.view({batch, tokens, 3, heads, width / heads}).unbind(2);
  return at::scaled_dot_product_attention(parts[0].transpose(1, 2), parts[1].transpose(1, 2),
                                          parts[2].transpose(1, 2))
      .transpose(1, 2)
      .reshape({batch, tokens, width});
}

#ifdef PROTOGCD_ATTENTION_KERNEL

namespace {

/// CPUID leaf 7: bit 22 of EDX.
bool has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 22 & 1U) != 0;
}

bool cpu_suits_kernel() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bf16") && !has_amx_bf16();
}

}  // namespace

bool has_attention_kernel(const at::Tensor& qkv, std::int64_t heads) {
  static const bool kSuits = cpu_suits_kernel();
  return kSuits && qkv.scalar_type() == at::kBFloat16 && qkv.device().is_cpu() &&
         qkv.is_contiguous() && qkv.size(2) == 3 * heads * kKernelHeadWidth;
}

at::Tensor attend_by_kernel(const at::Tensor& qkv, std::int64_t heads) {
  const std::int64_t batch = qkv.size(0), tokens = qkv.size(1), width = qkv.size(2) / 3;
  at::Tensor output = at::empty({batch, tokens, width}, qkv.options());
  constexpr std::int64_t kAlignment = 64;
  const std::int64_t bytes =
      (static_cast<std::int64_t>(attention_scratch_bytes(tokens)) + kAlignment - 1) / kAlignment *
      kAlignment;
  at::Tensor scratch = at::empty({at::get_num_threads(), bytes}, at::kByte);
  const auto* from = static_cast<const std::uint16_t*>(qkv.const_data_ptr());
  auto* to = static_cast<std::uint16_t*>(output.mutable_data_ptr());
  auto* memory = static_cast<std::byte*>(scratch.mutable_data_ptr());
  at::parallel_for(0, batch * heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t image = task / heads, head = task % heads;
      const std::uint16_t* queries = from + image * tokens * 3 * width + head * kKernelHeadWidth;
      attend_head_avx512({.queries = queries,
                          .keys = queries + width,
                          .values = queries + 2 * width,
                          .tokens = tokens,
                          .stride = 3 * width},
                         to + image * tokens * width + head * kKernelHeadWidth, width,
                         memory + at::get_thread_num() * bytes);
    }
  });
  return output;
}

#else

bool has_attention_kernel(const at::Tensor&, std::int64_t) {
  return false;
}

at::Tensor attend_by_kernel(const at::Tensor& qkv, std::int64_t heads) {
  return attend_plain(qkv, heads);
}

#endif

at::Tensor attend(const at::Tensor& qkv, std::int64_t heads) {
  return has_attention_kernel(qkv, heads) ? attend_by_kernel(qkv, heads) : attend_plain(qkv, heads);
}

}  // namespace protogcd
