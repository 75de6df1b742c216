// Text as the note beside a shard: it is refused with a DataError, or names files of its own
// folder.
#include <cstdint>
#include <string_view>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/data/shard.h"

PROTOGCD_MUTATED_BY(mutate_json)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto note = protogcd::ShardNote::parse(text, "folder/p.csv.shard");
    if (!protogcd::Shard::parse(note.shard.in_words())) __builtin_trap();
    for (const auto& [what, file] : note.files)
      if (file.path.parent_path() != "folder") __builtin_trap();
  } catch (const protogcd::DataError&) {
  }
  return 0;
}
