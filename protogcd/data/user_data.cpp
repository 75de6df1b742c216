#include "protogcd/data/user_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/boxed_path.h"
#include "protogcd/data/class_numbers.h"
#include "protogcd/data/image_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

void append(std::vector<std::string>& to, std::vector<std::string> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

/// The images below a folder, with what there is to say about it.
ImageListing list_folder(Dataset& dataset, const fs::path& folder, std::string_view option) {
  ImageListing listing = list_images(folder, dataset.sources);
  append(dataset.warnings, listing_warnings(folder, listing));
  append(dataset.notes, listing_notes(folder, listing));
  if (listing.count == 0) {
    throw no_images_error(fmt::format("{} {}", option_name(option), folder.string()), listing);
  }
  return listing;
}

void add_unlabelled(Dataset& dataset, const fs::path& folder, std::string_view option) {
  const ImageListing listing = list_folder(dataset, folder, option);
  for (std::uint32_t i = 0; i < listing.count; ++i) {
    dataset.samples.push_back({.source = listing.first + i, .set = SampleSet::kUnlabelled});
  }
}

void add_labelled(Dataset& dataset, const fs::path& folder, ClassNumbers& numbers) {
  const ImageListing listing = list_folder(dataset, folder, "labelled");
  if (!listing.empty_folders.empty()) {
    dataset.warnings.push_back(fmt::format("{}: {} folders hold no image, and are no classes: {}",
                                           folder.string(), listing.empty_folders.size(),
                                           few_of(listing.empty_folders)));
  }
  const std::string root = comparable_path(folder);
  std::uint32_t last_place = std::numeric_limits<std::uint32_t>::max();
  std::int32_t label = kNoClass;
  for (std::uint32_t i = 0; i < listing.count; ++i) {
    const std::uint32_t source = listing.first + i, place = dataset.sources.place(source);
    if (dataset.sources.packed(source)) {
      const std::int32_t packed = listing.labels[i];
      if (packed < 0) {
        throw DataError(
            fmt::format("{}: no label: neither a .cls file of its name, nor \"label\" or "
                        "\"cls\" in a .json file",
                        dataset.sources.path(source)));
      }
      label = numbers(listing.label_names[static_cast<std::size_t>(packed)]);
      dataset.samples.push_back(
          {.source = source, .label = label, .truth = label, .set = SampleSet::kLabelled});
      continue;
    }
    if (place != last_place) {  // images of one folder come one after another
      last_place = place;
      const std::string path = comparable_path(dataset.sources.place_path(place));
      if (path.size() <= root.size()) {
        throw DataError(fmt::format("{}: an image directly in the {} folder has no class",
                                    dataset.sources.path(source), option_name("labelled")),
                        "put it into a folder named after its class");
      }
      label = numbers(path.substr(root == "/" ? 1 : root.size() + 1));
    }
    dataset.samples.push_back(
        {.source = source, .label = label, .truth = label, .set = SampleSet::kLabelled});
  }
}

/// Whether one folder is the other or lies inside it, links resolved.
bool overlap(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const std::string first = comparable_path(fs::weakly_canonical(a, error)) + "/";
  const std::string second = comparable_path(fs::weakly_canonical(b, error)) + "/";
  return first.starts_with(second) || second.starts_with(first);
}

struct ManifestColumns {
  std::size_t path = 0, label = 0;
  std::optional<std::size_t> split, truth;
  std::vector<std::size_t> box;  ///< x, y, width and height, or none
};

ManifestColumns manifest_columns(const CsvTable& table) {
  const std::vector<std::string> known = {"path", "label", "split", "truth",
                                          "x",    "y",     "width", "height"};
  for (const auto& column : table.header()) {
    if (std::ranges::find(known, column) == known.end()) {
      throw DataError(fmt::format("{}:1: unknown column '{}'{} (known: {})", table.name(), column,
                                  did_you_mean(column, known), join(known, ", ")));
    }
    if (std::ranges::count(table.header(), column) > 1) {
      throw DataError(fmt::format("{}:1: column '{}' occurs twice", table.name(), column));
    }
  }
  std::vector<std::size_t> box;
  for (const char* column : {"x", "y", "width", "height"}) {
    if (const auto found = table.find_column(column)) box.push_back(*found);
  }
  if (!box.empty() && box.size() != 4) {
    throw DataError(
        fmt::format("{}:1: a box needs all of the columns x, y, width, height (there "
                    "are: {})",
                    table.name(), join(table.header(), ", ")));
  }
  return {table.column("path"), table.column("label"), table.find_column("split"),
          table.find_column("truth"), box};
}

/// The row's box; nothing where its four fields are empty.
std::optional<ImageBox> box_of(const CsvTable& table, const CsvRow& row,
                               const std::vector<std::size_t>& columns) {
  const auto field = [&](std::size_t i) -> const std::string& { return row.fields[columns[i]]; };
  if (std::ranges::all_of(columns, [&](std::size_t column) { return row.fields[column].empty(); }))
    return std::nullopt;
  const auto box = parse_box(field(0), field(1), field(2), field(3));
  if (!box) {
    throw DataError(
        fmt::format("{}: x '{}', y '{}', width '{}', height '{}' is no box", table.where(row),
                    field(0), field(1), field(2), field(3)),
        "whole pixels, width and height at least 1; all four empty for the whole image");
  }
  return box;
}

/// What a row says of its image; labels and truths are numbers of `numbers`.
Sample sample_of(const CsvTable& table, const CsvRow& row, const ManifestColumns& columns,
                 ClassNumbers& numbers) {
  const auto fail = [&](const std::string& reason) {
    throw DataError(fmt::format("{}: {}", table.where(row), reason));
  };
  const auto number_of = [&](const std::string& name) {
    return name.empty() ? kNoClass : numbers(name);
  };
  const std::string& path = row.fields[columns.path];
  const std::string split = columns.split ? row.fields[*columns.split] : "";
  const std::int32_t label = number_of(row.fields[columns.label]);
  const std::int32_t truth = columns.truth ? number_of(row.fields[*columns.truth]) : kNoClass;
  if (path.empty() || path.ends_with('/')) fail(fmt::format("'{}' is not a file's path", path));
  if (path.find('\0') != std::string::npos) fail("a path with a zero byte");
  if (!split.empty() && split != "train" && split != "test") {
    fail(fmt::format("split is '{}', expected train or test", split));
  }
  if (label >= 0 && truth >= 0 && label != truth) {
    fail(fmt::format("label '{}' and truth '{}' differ", row.fields[columns.label],
                     row.fields[*columns.truth]));
  }
  const bool test = split == "test";
  return {.label = test ? kNoClass : label,
          .truth = label >= 0 ? label : truth,
          .set = test         ? SampleSet::kTest
                 : label >= 0 ? SampleSet::kLabelled
                              : SampleSet::kUnlabelled};
}

/// Refuses a path, with its box, that two rows give. Sources are in the order of the rows. Equal
/// paths are neighbours once sorted by hash, so no set of a million strings is needed.
void refuse_repeated_paths(const Dataset& dataset, const CsvTable& table,
                           const ManifestColumns& columns) {
  std::vector<std::pair<std::size_t, std::size_t>> hashes;
  const auto normal_path = [&](std::size_t source) {
    return fs::path(dataset.sources.path(source)).lexically_normal().string();
  };
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    hashes.push_back({std::hash<std::string>()(normal_path(i)), i});
  }
  std::ranges::sort(hashes);
  for (std::size_t i = 1; i < hashes.size(); ++i) {
    if (hashes[i].first != hashes[i - 1].first ||
        normal_path(hashes[i].second) != normal_path(hashes[i - 1].second)) {
      continue;
    }
    const auto &first = table.rows()[hashes[i - 1].second],
               &second = table.rows()[hashes[i].second];
    throw DataError(fmt::format("{}: '{}' was listed before, {}in line {}", table.where(second),
                                second.fields[columns.path],
                                columns.box.empty() ? "" : "with the same box, ", first.line));
  }
}

/// Sample numbers by path, for a million paths without a second copy of each: hashes, checked by
/// comparing the path itself.
class PathIndex {
 public:
  explicit PathIndex(const Dataset& dataset) : dataset_(dataset) {
    entries_.reserve(dataset.samples.size());
    for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
      entries_.push_back({hash(path_of(i)), i});
    }
    std::ranges::sort(entries_);
  }

  std::optional<std::size_t> find(const std::string& path) const {
    const std::size_t key = hash(path);
    auto entry = std::ranges::lower_bound(entries_, std::pair<std::size_t, std::size_t>{key, 0});
    for (; entry != entries_.end() && entry->first == key; ++entry) {
      if (path_of(entry->second) == path) return entry->second;
    }
    return std::nullopt;
  }

 private:
  static std::size_t hash(const std::string& path) { return std::hash<std::string>()(path); }
  std::string path_of(std::size_t sample) const {
    return comparable_path(dataset_.sources.path(dataset_.samples[sample].source));
  }

  const Dataset& dataset_;
  std::vector<std::pair<std::size_t, std::size_t>> entries_;
};

}  // namespace

void number_classes(Dataset& dataset, const std::vector<std::string>& names) {
  enum class Role : std::uint8_t { kUnused, kNew, kOld };
  std::vector<Role> roles(names.size(), Role::kUnused);
  for (const auto& sample : dataset.samples) {
    if (sample.truth >= 0) roles[sample.truth] = std::max(roles[sample.truth], Role::kNew);
    if (sample.label >= 0) roles[sample.label] = Role::kOld;
  }
  std::vector<std::int32_t> order;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (roles[i] != Role::kUnused) order.push_back(static_cast<std::int32_t>(i));
  }
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    return roles[a] != roles[b] ? roles[a] > roles[b] : names[a] < names[b];
  });
  std::vector<std::int32_t> position(names.size(), kNoClass);
  std::vector<std::string> sorted;
  for (const std::int32_t name : order) {
    position[name] = static_cast<std::int32_t>(sorted.size());
    sorted.push_back(names[name]);
  }
  for (auto& sample : dataset.samples) {
    if (sample.label >= 0) sample.label = position[sample.label];
    if (sample.truth >= 0) sample.truth = position[sample.truth];
  }
  dataset.old_classes = static_cast<std::size_t>(std::ranges::count(roles, Role::kOld));
  dataset.classes = std::move(sorted);
}

Dataset load_folders(const fs::path& labelled, const fs::path& unlabelled) {
  if (!labelled.empty() && !unlabelled.empty() && overlap(labelled, unlabelled)) {
    throw DataError(
        fmt::format("{} {} and {} {}: one lies inside the other, so images would be in both sets",
                    option_name("labelled"), labelled.string(), option_name("unlabelled"),
                    unlabelled.string()));
  }
  Dataset dataset;
  dataset.name = (labelled.empty() ? unlabelled : labelled).string();
  ClassNumbers numbers;
  if (!labelled.empty()) add_labelled(dataset, labelled, numbers);
  if (!unlabelled.empty()) add_unlabelled(dataset, unlabelled, "unlabelled");
  number_classes(dataset, numbers.names());
  return dataset;
}

Dataset load_images(const fs::path& folder) {
  Dataset dataset;
  dataset.name = folder.string();
  add_unlabelled(dataset, folder, "images");
  return dataset;
}

Dataset parse_manifest(std::string_view text, const std::string& name, const fs::path& folder) {
  const CsvTable table = CsvTable::parse(text, name);
  const ManifestColumns columns = manifest_columns(table);
  Dataset dataset;
  dataset.name = name;
  ClassNumbers numbers;
  for (const auto& row : table.rows()) {
    Sample sample = sample_of(table, row, columns, numbers);
    const fs::path path = folder / row.fields[columns.path];
    const auto box = box_of(table, row, columns.box);
    sample.source = box ? dataset.sources.add_box(path, *box) : dataset.sources.add_path(path);
    dataset.samples.push_back(sample);
  }
  if (dataset.samples.empty()) throw DataError(fmt::format("{}: lists no images", name));
  refuse_repeated_paths(dataset, table, columns);
  number_classes(dataset, numbers.names());
  dataset.order_by_set();
  return dataset;
}

Dataset load_manifest(const fs::path& file) {
  const std::string text = read_text_file(file);
  Dataset dataset = parse_manifest(text, file.string(), file.parent_path());
  std::error_code error;
  const std::string first = dataset.sources.file(0);
  if (!fs::exists(first, error) &&
      !fs::exists(dataset.sources.file(dataset.sources.size() - 1), error)) {
    throw DataError(fmt::format("{}: neither the first nor the last image exists; the first was "
                                "looked for at {}",
                                file.string(), first),
                    "paths are relative to the manifest's folder");
  }
  return dataset;
}

void apply_truth(Dataset& dataset, const fs::path& file, std::span<const fs::path> roots) {
  const CsvTable table = CsvTable::read(file);
  const std::size_t path_column = table.column("path"), label_column = table.column("label");
  const PathIndex index(dataset);
  ClassNumbers numbers;
  for (const auto& name : dataset.classes) numbers(name);
  // Once as written and once with links resolved, as ".." differs between the two.
  std::error_code error;
  std::vector<fs::path> folders = {file.parent_path(),
                                   fs::weakly_canonical(fs::absolute(file), error).parent_path()};
  folders.insert(folders.end(), roots.begin(), roots.end());
  std::size_t matched = 0, unmatched = 0;
  std::string example;
  for (const auto& row : table.rows()) {
    const std::string &path = row.fields[path_column], &label = row.fields[label_column];
    if (label.empty()) throw DataError(fmt::format("{}: no label", table.where(row)));
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < folders.size() && !found; ++i) {
      found = index.find(comparable_path(folders[i] / path));
    }
    if (!found) {
      if (unmatched++ == 0) example = fmt::format("'{}' in line {}", path, row.line);
      continue;
    }
    Sample& sample = dataset.samples[*found];
    const std::int32_t truth = numbers(label);
    if (sample.truth >= 0 && sample.truth != truth) {
      throw DataError(fmt::format("{}: '{}' is '{}' here, but '{}' was given before",
                                  table.where(row), path, label, numbers.names()[sample.truth]));
    }
    sample.truth = truth;
    ++matched;
  }
  if (matched == 0) {
    throw DataError(fmt::format("{}: none of its {} paths is an image of the dataset",
                                file.string(), table.rows().size()),
                    "paths are relative to the file's folder or to the folder of the images");
  }
  // One truth file may serve several sets of images: worth knowing, but nothing amiss.
  if (unmatched > 0) {
    dataset.notes.push_back(fmt::format("{}: {} rows match no image of the dataset, the first: {}",
                                        file.string(), unmatched, example));
  }
  number_classes(dataset, numbers.names());
}

}  // namespace protogcd
