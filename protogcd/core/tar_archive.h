// A tar archive in memory: its files by name, and where their bytes are. Nothing is unpacked.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace protogcd {

/// Hands out the regular files of an archive (ustar, GNU, pax), in its order: the name, and the
/// bytes, which lie in `archive`. Every claim is checked: DataError names `origin` and the offset
/// where a header is damaged, or a file reaches beyond the end.
void for_each_file_in_tar(
    std::span<const std::byte> archive, const std::string& origin,
    const std::function<void(std::string_view name, std::span<const std::byte> bytes)>& use);

}  // namespace protogcd
