// A file of JSON objects, one a line: what a run measures as it goes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace protogcd {

/// Adds one line, given without its end; on disk when it returns.
void append_line(const std::filesystem::path& file, std::string_view line);
/// Drops the lines whose number under `key` is `limit` or more, or missing: a resumed run writes
/// them again. No file is no error.
void keep_json_lines_before(const std::filesystem::path& file, const std::string& key,
                            std::int64_t limit);

}  // namespace protogcd
