// Unfinished rows of numbers (sections.h): gone on with and completed, or refused with an error of
// ours.
#include <array>
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/partial_rows.h"

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr const char* kFiles[] = {".rows.npy.partial/journal", ".rows.npy.partial/identity.json",
                                    ".rows.npy.partial/0.npy"};
  const fuzz::SectionFolder folder(data, size, kFiles);
  const auto target = folder / "rows.npy";
  std::uint64_t before = 0;
  try {
    PartialRows rows({{.target = target, .type = ElementType::kFloat32, .row_shape = {2}}},
                     {{"weights", "a"}}, /*resume=*/true);
    before = rows.rows();
    constexpr std::array<float, 2> kRow{};
    rows.append(0, std::as_bytes(std::span(kRow)));
    rows.finish_items(rows.items() + 1, 1);
    rows.commit();
  } catch (const UsageError&) {
    return 0;
  } catch (const FileError&) {
    return 0;
  }
  const NpyFile written(target);
  if (written.array().shape.front() != static_cast<std::int64_t>(before + 1)) __builtin_trap();
  return 0;
}
