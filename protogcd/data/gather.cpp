#include "protogcd/data/gather.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/npy.h"
#include "protogcd/core/text.h"
#include "protogcd/data/output_files.h"
#include "protogcd/data/shard.h"
#include "protogcd/data/skipped.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

struct ShardFile {
  fs::path path;
  ShardNote note;
};

void check_alike(const ShardFile& shard, const ShardFile& first) {
  const auto fail = [&](const std::string& what) {
    throw DataError(fmt::format("{} is made with another {} than {}", shard.path.string(), what,
                                first.path.string()),
                    "join the shards of one command, which differ in nothing but their numbers");
  };
  if (shard.note.kind != first.note.kind) fail("verb");
  if (shard.note.shard.count != first.note.shard.count) fail("number of shards");
  for (const auto& [name, value] : first.note.identity) {
    const auto found = shard.note.identity.find(name);
    if (found == shard.note.identity.end() || found->second != value) fail(name);
  }
  if (shard.note.identity.size() != first.note.identity.size()) fail("version of protogcd");
}

void check_complete(const std::vector<ShardFile>& shards) {
  const std::int64_t count = shards.front().note.shard.count;
  for (std::size_t i = 1; i < shards.size(); ++i) {
    if (shards[i].note.shard.index == shards[i - 1].note.shard.index) {
      throw DataError(fmt::format("shard {} is there twice: {} and {}",
                                  shards[i].note.shard.in_words(), shards[i - 1].path.string(),
                                  shards[i].path.string()));
    }
  }
  std::vector<std::string> missing;
  auto next = shards.begin();
  for (std::int64_t index = 1; index <= count; ++index) {
    if (next != shards.end() && next->note.shard.index == index)
      ++next;
    else
      missing.push_back(Shard{index, count}.in_words());
  }
  if (missing.empty()) return;
  throw DataError(
      fmt::format("missing: shard{} {}", missing.size() > 1 ? "s" : "", few_of(missing)),
      fmt::format("repeat the command with {} {}; the others stay as they are",
                  option_name("shard"), missing.front()));
}

/// In the order of their numbers.
std::vector<ShardFile> read_shards(std::span<const fs::path> files) {
  std::vector<ShardFile> shards;
  for (const fs::path& file : files) shards.push_back({file, ShardNote::read(file)});
  for (const ShardFile& shard : shards) check_alike(shard, shards.front());
  std::ranges::stable_sort(shards, {}, [](const ShardFile& s) { return s.note.shard.index; });
  check_complete(shards);
  return shards;
}

/// Where the header line of a CSV ends: a quoted field may hold a line break.
std::size_t after_header(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n' && !quoted) return i + 1;
  }
  return text.size();
}

void join_csv(const std::vector<ShardFile>& shards, const fs::path& out) {
  AtomicFile file(out);
  for (const ShardFile& shard : shards) {
    const MappedFile part(shard.note.files.at("output").path);
    const bool is_first = &shard == &shards.front();
    file.write(part.text().substr(is_first ? 0 : after_header(part.text())));
  }
  file.commit();
}

/// As PredictionsTableWriter writes them: "[", rows with commas between, "\n]\n".
void join_json(const std::vector<ShardFile>& shards, const fs::path& out) {
  constexpr std::string_view kListBegin = "[", kListEnd = "\n]\n";
  AtomicFile file(out);
  file.write(kListBegin);
  bool empty = true;
  for (const ShardFile& shard : shards) {
    const MappedFile part(shard.note.files.at("output").path);
    std::string_view rows = part.text();
    if (!rows.starts_with(kListBegin) || !rows.ends_with(kListEnd))
      throw DataError(shard.path.string() + ": no list of predictions");
    rows = rows.substr(kListBegin.size(), rows.size() - kListBegin.size() - kListEnd.size());
    if (rows.empty()) continue;
    if (!empty) file.write(",");
    file.write(rows);
    empty = false;
  }
  file.write(kListEnd);
  file.commit();
}

void join_arrays(const std::vector<ShardFile>& shards, const std::string& what,
                 const fs::path& out) {
  std::vector<NpyFile> parts;
  for (const ShardFile& shard : shards) parts.emplace_back(shard.note.files.at(what).path);
  std::vector<std::int64_t> shape = parts.front().array().shape;
  shape[0] = 0;
  for (const NpyFile& part : parts) shape[0] += part.array().shape.at(0);
  NpyWriter writer(out, parts.front().array().type, shape);
  for (const NpyFile& part : parts) writer.append(part.array().bytes);
  writer.commit();
}

/// Paths of a table that lies in another folder, as seen from `out`.
class MovedPaths {
 public:
  MovedPaths(const fs::path& from, const fs::path& out)
      : folder_(fs::weakly_canonical(fs::absolute(from).parent_path())), paths_(out) {}
  std::string absolute(const std::string& path) const { return comparable_path(folder_ / path); }
  std::string operator()(const std::string& path) const { return paths_(folder_ / path); }

 private:
  fs::path folder_;
  CsvPaths paths_;
};

void join_paths(const std::vector<ShardFile>& shards, const fs::path& out) {
  CsvWriter writer(out, {"path"});
  for (const ShardFile& shard : shards) {
    const fs::path& part = shard.note.files.at("paths").path;
    const MovedPaths moved(part, out);
    const CsvTable table = CsvTable::read(part);
    for (const CsvRow& row : table.rows()) writer.row({moved(row.fields[0])});
  }
  writer.commit();
}

/// Those that could not be read, then those of kinds that cannot be, which the last shard lists.
void join_skipped(const std::vector<ShardFile>& shards, const fs::path& out, SourceTable& bad,
                  SkippedFiles& skipped) {
  for (const ShardFile& shard : shards) {
    const auto list = shard.note.files.find("skipped");
    if (list == shard.note.files.end()) continue;
    const MovedPaths moved(list->second.path, out);
    const CsvTable table = CsvTable::read(list->second.path);
    for (std::size_t row = 0; row < table.rows().size(); ++row) {
      const std::vector<std::string>& fields = table.rows()[row].fields;
      if (row < shard.note.skipped)
        skipped.add(bad, bad.add_path(moved.absolute(fields[0])), fields.at(1));
      else
        bad.add_unreadable(moved.absolute(fields[0]), fields.at(1));
    }
  }
  skipped.write_if_any(out, bad);
}

/// Whatever is written or removed beside the output, before anything is.
void check_outputs(const OutputFiles& names, const ShardNote& shard, bool overwrite) {
  check_output_file(names.output, overwrite, "out");
  check_output_file(names.skipped, overwrite, "out");
  if (shard.files.contains("paths")) check_output_file(names.paths, overwrite, "out");
  if (shard.files.contains("tokens")) check_output_file(names.tokens, overwrite, "out");
}

}  // namespace

GatherSummary gather(std::span<const fs::path> files, const fs::path& out, bool overwrite,
                     const BadImagePolicy& policy) {
  const std::vector<ShardFile> shards = read_shards(files);
  const ShardNote& first = shards.front().note;
  const OutputFiles names = out.extension() == ".npy"
                                ? OutputFiles::of_features(out, /*is_shard=*/false)
                                : OutputFiles::of_predictions(out);
  if (out.extension() != shards.front().path.extension()) {
    throw UsageError(fmt::format("{}: '{}' does not end in {}, as the shards do",
                                 option_name("out"), out.string(),
                                 shards.front().path.extension().string()));
  }
  check_outputs(names, first, overwrite);
  GatherSummary summary{.shards = shards.size()};
  for (const ShardFile& shard : shards) summary.images += shard.note.images;
  SourceTable bad;
  SkippedFiles skipped(policy, summary.images);
  join_skipped(shards, names.skipped, bad, skipped);
  if (first.files.contains("paths")) join_paths(shards, names.paths);
  if (first.files.contains("tokens")) join_arrays(shards, "tokens", names.tokens);
  if (out.extension() == ".npy")
    join_arrays(shards, "output", out);
  else if (out.extension() == ".json")
    join_json(shards, out);
  else
    join_csv(shards, out);
  summary.skipped = skipped.listed(bad);
  skipped.check(
      bad, fmt::format("the other {} are in {}", summary.images - skipped.count(), out.string()));
  return summary;
}

}  // namespace protogcd
