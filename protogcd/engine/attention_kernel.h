// Attention of one head of one image in bfloat16, for CPUs with AVX512-BF16; compiled with function
// attributes so that one program runs everywhere and picks at run time (cpu_attention.h).
#pragma once

#include <cstddef>
#include <cstdint>

// clang 16 crashes on vectors of bfloat16; newer ones have not been tried.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PROTOGCD_ATTENTION_KERNEL 1

namespace protogcd {

/// The only width of a head that the kernel knows: that of every public release.
constexpr std::int64_t kKernelHeadWidth = 64;

struct HeadInput {
  const std::uint16_t *queries, *keys, *values;  ///< [tokens, 64] bfloat16
  std::int64_t tokens, stride;                   ///< stride: values from token to token
};

/// Bytes of working memory for one head; to be aligned to 64.
std::size_t attention_scratch_bytes(std::int64_t tokens);

/// output[t] = sum_n softmax_n(queries[t] . keys[n] / 8) values[n], [tokens, 64] bfloat16 of which
/// `output_stride` lie between tokens. Products are of bfloat16, sums and softmax in float32.
void attend_head_avx512(const HeadInput& input, std::uint16_t* output, std::int64_t output_stride,
                        std::byte* scratch);

}  // namespace protogcd
#endif
