// A part of a list of images that one of several processes works on, and the note beside its output
// that says which part it is, of what, and that it is complete. docs/scaling.md has the use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protogcd/data/source_table.h"

namespace protogcd {

/// Part `index` of `count`, from 1.
struct Shard {
  std::int64_t index = 1, count = 1;

  /// "2/8"; nothing where that is no part: 0/8, 9/8.
  static std::optional<Shard> parse(std::string_view text);
  static constexpr const char* kWords = "i/n, from 1/n to n/n";
  /// For OptionTable: also the empty text, which is no part but the whole.
  static bool is_text(std::string_view text) { return text.empty() || parse(text).has_value(); }

  std::string in_words() const;  ///< "2/8"
  bool is_last() const { return index == count; }
  /// [first, end) of so many images. Whole batches, so that a batch holds the same images, and
  /// gives the same bits, into however many shards the list is cut.
  std::pair<std::size_t, std::size_t> range(std::size_t images, std::size_t batch) const;
  /// predictions.csv -> predictions-2-of-8.csv
  std::filesystem::path file(const std::filesystem::path& out) const;
};

/// All of the list, or a shard's part.
std::pair<std::size_t, std::size_t> range_of(const std::optional<Shard>& shard, std::size_t images,
                                             std::size_t batch);

/// What stands in NAME.shard beside a shard's output NAME. It is written last.
struct ShardNote {
  std::string kind;  ///< "predictions" or "features"
  Shard shard;
  /// What the numbers depend on, by name; equal for all shards of one output.
  std::map<std::string, std::string> identity;
  std::uint64_t images = 0;   ///< of this part of the list
  std::uint64_t skipped = 0;  ///< those of them that could not be read
  /// The output and the files beside it, by what they are, with their sizes.
  struct File {
    std::filesystem::path path;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, File> files = {};

  static std::filesystem::path path_of(const std::filesystem::path& output);
  /// Notes a file that is there; one that is not, is none of the output's.
  void add_file(const std::string& what, const std::filesystem::path& path);
  void write(const std::filesystem::path& output) const;
  /// The text of a note, `file` by name; DataError where it is none.
  static ShardNote parse(std::string_view text, const std::filesystem::path& file);
  /// DataError where there is none, or a file beside it has not the size that it was written with.
  static ShardNote read(const std::filesystem::path& output);
};

/// Whether this shard was finished before: its note is there, and is of the same identity.
/// DataError where it is of another.
bool is_finished_shard(const std::filesystem::path& output, const ShardNote& expected);

/// Whether a shard's output, or what is beside it, may be replaced: without a note it was never
/// finished.
inline bool may_replace_shard(const std::optional<Shard>& shard,
                              const std::filesystem::path& output) {
  return shard && !std::filesystem::exists(ShardNote::path_of(output));
}

/// Names a list of images: their paths, whatever folder it was read from.
std::string list_digest(const SourceTable& sources);

}  // namespace protogcd
