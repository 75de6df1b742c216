// A manifest and a table of hidden labels (sections.h): refused with a DataError, or every image
// has a truth that there is, and its label where it has one.
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/data/user_data.h"

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr const char* kFiles[] = {"manifest.csv", "truth.csv"};
  const fuzz::SectionFolder folder(data, size, kFiles);
  if (!std::filesystem::exists(folder / "manifest.csv") ||
      !std::filesystem::exists(folder / "truth.csv"))
    return 0;
  try {
    Dataset dataset =
        parse_manifest(read_text_file(folder / "manifest.csv"), "manifest.csv", folder.path());
    const std::filesystem::path roots[] = {"images"};
    apply_truth(dataset, folder / "truth.csv", roots);
    for (const Sample& sample : dataset.samples) {
      if (sample.truth >= static_cast<std::int32_t>(dataset.classes.size())) __builtin_trap();
      if (sample.label >= 0 && sample.label != sample.truth) __builtin_trap();
    }
  } catch (const DataError&) {
  }
  return 0;
}
