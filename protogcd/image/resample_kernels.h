// The vectorised kernels, compiled with function attributes so that one program runs everywhere and
// picks at run time. Call them only where available_resample_kernels() lists them.
#pragma once

#include "protogcd/image/resample.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define PROTOGCD_X86_KERNELS 1

namespace protogcd {

void horizontal_avx2(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                     std::uint8_t* const* outputs);
void vertical_avx2(const ResampleAxis& axis, int index, const std::uint8_t* const* inputs,
                   std::size_t bytes, std::uint8_t* output);
void horizontal_avx512(const ResampleAxis& axis, const std::uint8_t* const* inputs,
                       std::uint8_t* const* outputs);
void vertical_avx512(const ResampleAxis& axis, int index, const std::uint8_t* const* inputs,
                     std::size_t bytes, std::uint8_t* output);

}  // namespace protogcd
#endif
