#include "protogcd/data/shard.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShardFormat = "protogcd-shard-1";
constexpr std::int64_t kMostShards = 1'000'000;
constexpr std::uint64_t kLongestNote = 1 << 20;

/// The first name whose value differs, or that one of them lacks.
std::optional<std::string> difference(const std::map<std::string, std::string>& one,
                                      const std::map<std::string, std::string>& other) {
  for (const auto& [name, value] : one) {
    const auto found = other.find(name);
    if (found == other.end() || found->second != value) return name;
  }
  for (const auto& [name, value] : other)
    if (!one.contains(name)) return name;
  return std::nullopt;
}

}  // namespace

std::optional<Shard> Shard::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos) return std::nullopt;
  const auto index = parse_integer(text.substr(0, slash)),
             count = parse_integer(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > kMostShards)
    return std::nullopt;
  return Shard{*index, *count};
}

std::string Shard::in_words() const {
  return fmt::format("{}/{}", index, count);
}

std::pair<std::size_t, std::size_t> Shard::range(std::size_t images, std::size_t batch) const {
  const std::size_t batches = (images + batch - 1) / batch;
  const auto end_of = [&](std::int64_t shard) {
    return std::min(images, batches * static_cast<std::size_t>(shard) /
                                static_cast<std::size_t>(count) * batch);
  };
  return {end_of(index - 1), end_of(index)};
}

fs::path Shard::file(const fs::path& out) const {
  return fs::path(out).replace_filename(
      fmt::format("{}-{}-of-{}{}", out.stem().string(), index, count, out.extension().string()));
}

std::pair<std::size_t, std::size_t> range_of(const std::optional<Shard>& shard, std::size_t images,
                                             std::size_t batch) {
  return shard.value_or(Shard{}).range(images, batch);
}

fs::path ShardNote::path_of(const fs::path& output) {
  return output.string() + ".shard";
}

void ShardNote::add_file(const std::string& what, const fs::path& path) {
  if (fs::exists(path)) files[what] = {.path = path, .bytes = fs::file_size(path)};
}

void ShardNote::write(const fs::path& output) const {
  nlohmann::ordered_json json = {{"format", kShardFormat},    {"kind", kind},
                                 {"shard", shard.in_words()}, {"identity", identity},
                                 {"images", images},          {"skipped", skipped}};
  for (const auto& [what, file] : files)
    json["files"][what] = {{"name", file.path.filename().string()}, {"bytes", file.bytes}};
  write_file_atomically(path_of(output), json.dump(2) + "\n");
}

ShardNote ShardNote::parse(std::string_view text, const fs::path& file) {
  const auto fail = [&](const std::string& why) -> DataError {
    return DataError(fmt::format("{}: no note of a shard: {}", file.string(), why));
  };
  try {
    const nlohmann::json json = parse_json(text);
    if (const auto& format = json.at("format"); format != kShardFormat)
      throw fail(fmt::format("of format {}, this program reads {}", format.dump(), kShardFormat));
    const auto shard = Shard::parse(json.at("shard").get<std::string>());
    if (!shard) throw fail("it does not say which shard it is");
    ShardNote note{.kind = json.at("kind"),
                   .shard = *shard,
                   .identity = json.at("identity"),
                   .images = count_at<std::size_t>(json, "images"),
                   .skipped = count_at<std::size_t>(json, "skipped")};
    for (const auto& [what, written] : json.at("files").items()) {
      const fs::path name = written.at("name").get<std::string>();
      if (name.has_parent_path()) throw fail("it names a file of another folder");
      note.files[what] = {.path = file.parent_path() / name,
                          .bytes = count_at<std::uint64_t>(written, "bytes")};
    }
    if (!note.files.contains("output")) throw fail("it names no output");
    return note;
  } catch (const nlohmann::json::exception& error) {
    throw fail(error.what());
  }
}

ShardNote ShardNote::read(const fs::path& output) {
  const fs::path file = path_of(output);
  if (!fs::exists(file)) {
    throw DataError(
        fmt::format("{}: no finished shard: there is no {} beside it", output.string(),
                    file.filename().string()),
        fmt::format("repeat the command that was to make it, with its {}", option_name("shard")));
  }
  ShardNote note = parse(read_text_file(file, kLongestNote), file);
  for (const auto& [what, written] : note.files) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(written.path, error);
    if (error) throw DataError(fmt::format("{}: {}", written.path.string(), error.message()));
    if (bytes != written.bytes) {
      throw DataError(fmt::format("{}: {} bytes, and {} were written", written.path.string(), bytes,
                                  written.bytes),
                      "copy it again, or make this shard again");
    }
  }
  return note;
}

bool is_finished_shard(const fs::path& output, const ShardNote& expected) {
  if (!fs::exists(ShardNote::path_of(output))) return false;
  const ShardNote found = ShardNote::read(output);
  if (const auto name = difference(found.identity, expected.identity)) {
    throw DataError(fmt::format("{}: finished, but with another {}", output.string(), *name),
                    fmt::format("{} makes it anew", option_name("overwrite")));
  }
  return true;
}

std::string list_digest(const SourceTable& sources) {
  Sha256 digest;
  std::vector<std::string> places(sources.place_count());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::string& place = places[sources.place(i)];
    if (place.empty()) place = comparable_path(sources.place_path(sources.place(i)));
    digest.update(place);
    digest.update(std::string_view("\0", 1));
    digest.update(sources.name(i));
    digest.update(std::string_view("\0", 1));
  }
  return hexadecimal(digest.finish());
}

}  // namespace protogcd
