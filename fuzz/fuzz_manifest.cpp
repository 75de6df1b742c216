// Text as a manifest: any input is accepted or refused with a DataError, and an accepted one is a
// consistent dataset.
#include <cstdint>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/data/user_data.h"

PROTOGCD_MUTATED_BY(mutate_csv)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  try {
    const Dataset dataset =
        parse_manifest({reinterpret_cast<const char*>(data), size}, "fuzz.csv", "folder");
    if (dataset.old_classes > dataset.classes.size()) __builtin_trap();
    for (const auto& sample : dataset.samples) {
      if ((sample.set == SampleSet::kLabelled) != (sample.label >= 0)) __builtin_trap();
      if (sample.label >= 0 && !dataset.is_old(sample.label)) __builtin_trap();
      if (sample.truth >= static_cast<std::int32_t>(dataset.classes.size())) __builtin_trap();
      if (dataset.sources.path(sample.source).empty()) __builtin_trap();
    }
  } catch (const DataError&) {
  }
  return 0;
}
