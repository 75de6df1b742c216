// The journal beside a file of blocks: "block 3 0a1b2c3d", a line for each that is finished, with
// its checksum. Of two lines for a block the later counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace protogcd {

std::string block_line(std::int64_t block, std::uint32_t checksum);

struct BlockJournal {
  std::map<std::int64_t, std::uint32_t> checksums;
  std::size_t end =
      0;  ///< of what could be read; a line that was cut short, and what follows, goes
};

/// From an offset on, of so many blocks.
BlockJournal read_block_lines(std::string_view journal, std::size_t begin, std::int64_t blocks);

}  // namespace protogcd
