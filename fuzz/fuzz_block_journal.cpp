// Text as the journal of a token bank: what of it can be read is the same once written.
#include <cstdint>
#include <string>

#include "fuzz/structured.h"
#include "protogcd/core/block_journal.h"

PROTOGCD_MUTATED_BY(mutate_lines)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr std::int64_t kBlocks = 8;
  const std::string_view journal(reinterpret_cast<const char*>(data), size);
  const BlockJournal read = read_block_lines(journal, 0, kBlocks);
  if (read.end > size || (read.end > 0 && journal[read.end - 1] != '\n')) __builtin_trap();
  std::string again;
  for (const auto& [block, checksum] : read.checksums) {
    if (block < 0 || block >= kBlocks) __builtin_trap();
    again += block_line(block, checksum);
  }
  const BlockJournal same = read_block_lines(again, 0, kBlocks);
  if (same.checksums != read.checksums || same.end != again.size()) __builtin_trap();
  return 0;
}
