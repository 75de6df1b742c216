// Bytes as a Python pickle: any input is accepted or refused with a DataError, nothing is executed,
// and strings stay within the input.
#include <array>
#include <cstdint>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/pickle.h"

PROTOGCD_MUTATED_BY(mutate_pickle)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr std::array<std::string_view, 6> kGlobals = {"numpy.core.multiarray._reconstruct",
                                                        "numpy.ndarray",
                                                        "numpy.dtype",
                                                        "collections.OrderedDict",
                                                        "torch._utils._rebuild_tensor_v2",
                                                        "torch.FloatStorage"};
  try {
    const PickleDocument document({reinterpret_cast<const char*>(data), size}, "fuzz.pickle",
                                  {.allowed_globals = kGlobals, .most_values = 100'000});
    // One level is enough to touch every reachable kind without walking cycles.
    unsigned sum = 0;
    for (const PickleValue* item : document.root().items) {
      for (const char letter : item->text) sum += static_cast<unsigned char>(letter);
      sum += static_cast<unsigned>(item->items.size());
    }
    if (document.root().find("data") != nullptr && sum == 0xFFFFFFFF) return 1;
    if (document.size() > size) __builtin_trap();
  } catch (const DataError&) {
  }
  return 0;
}
