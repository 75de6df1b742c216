#include "protogcd/nn/builtin_backbone.h"

// The assembler takes the file in as it is: a five-megabyte array in C++ would take the compiler
// minutes.
asm(R"(
  .pushsection .rodata
  .balign 64
protogcd_builtin_backbone:
  .incbin ")" PROTOGCD_BUILTIN_BACKBONE R"("
protogcd_builtin_backbone_end:
  .popsection
  .globl protogcd_builtin_backbone, protogcd_builtin_backbone_end
  .hidden protogcd_builtin_backbone, protogcd_builtin_backbone_end
)");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" {
__attribute__((visibility("hidden"))) extern const std::byte protogcd_builtin_backbone[];
__attribute__((visibility("hidden"))) extern const std::byte protogcd_builtin_backbone_end[];
}
// NOLINTEND(readability-identifier-naming)

namespace protogcd {

std::span<const std::byte> builtin_backbone_bytes() {
  return {protogcd_builtin_backbone, protogcd_builtin_backbone_end};
}

}  // namespace protogcd
