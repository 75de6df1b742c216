#include "protogcd/core/block_journal.h"

#include <fmt/core.h>

#include <charconv>
#include <optional>

#include "protogcd/core/text.h"

namespace protogcd {
namespace {

std::optional<std::uint32_t> checksum_in(std::string_view digits) {
  std::uint32_t sum = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
  const bool is_whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return is_whole ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::string block_line(std::int64_t block, std::uint32_t checksum) {
  return fmt::format("block {} {:08x}\n", block, checksum);
}

BlockJournal read_block_lines(std::string_view journal, std::size_t begin, std::int64_t blocks) {
  BlockJournal read{.checksums = {}, .end = begin};
  for (std::size_t end; (end = journal.find('\n', read.end)) != journal.npos; read.end = end + 1) {
    const auto words = split(journal.substr(read.end, end - read.end), ' ');
    if (words.size() != 3 || words[0] != "block") break;
    const auto block = parse_integer(words[1]);
    const auto sum = checksum_in(words[2]);
    if (!block || *block < 0 || *block >= blocks || !sum) break;
    read.checksums[*block] = *sum;
  }
  return read;
}

}  // namespace protogcd
