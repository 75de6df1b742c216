// A tar archive in memory: its files by name, and where their bytes are. Nothing is unpacked.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace protogcd {

struct TarFile {
  std::string_view name;             ///< as it stands there: "./a", "../a" and "/a" are possible
  std::span<const std::byte> bytes;  ///< in the archive
  bool is_link = false;              ///< hard or symbolic: to a file that is not looked for
};

/// Hands out the regular files and links of an archive (ustar, GNU, pax), in its order. Every claim
/// is checked: DataError names `origin` and the offset where a header is damaged, or a file reaches
/// beyond the end.
void for_each_file_in_tar(std::span<const std::byte> archive, const std::string& origin,
                          const std::function<void(const TarFile&)>& use);

}  // namespace protogcd
