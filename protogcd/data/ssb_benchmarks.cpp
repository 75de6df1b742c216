// The fine-grained benchmarks with annotation files: CUB, Stanford Cars, FGVC-Aircraft.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/matlab.h"
#include "protogcd/data/ssb_splits.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

void apply_split(RawBenchmark& raw, const SsbSplit& split) {
  raw.old_ids.assign(split.known.begin(), split.known.end());
  for (const auto& part : {split.hard, split.medium, split.easy}) {
    raw.new_ids.insert(raw.new_ids.end(), part.begin(), part.end());
  }
}

std::size_t class_count(const SsbSplit& split) {
  return split.known.size() + split.hard.size() + split.medium.size() + split.easy.size();
}

/// An annotation file's lines, without line ends; blank ones are left out.
struct Line {
  std::size_t number;
  std::string text;
};

std::vector<Line> read_lines(const fs::path& path, std::string_view what) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    throw DataError(fmt::format("{}: no such file; expected {}", path.string(), what));
  }
  const std::string text = read_text_file(path);
  std::vector<Line> lines;
  std::size_t number = 0;
  for (auto& line : split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back({number, std::move(line)});
  }
  return lines;
}

/// "17 rest of the line" -> rest, by number; every number from 1 on exactly once.
std::vector<std::string> read_numbered(const fs::path& path, std::string_view what) {
  std::map<std::int64_t, std::string> entries;
  for (const auto& line : read_lines(path, what)) {
    const std::size_t blank = line.text.find(' ');
    const auto number = parse_integer(line.text.substr(0, blank));
    if (blank == std::string::npos || !number) {
      throw DataError(fmt::format("{}:{}: '{}' is not a number and a value", path.string(),
                                  line.number, line.text.substr(0, 100)));
    }
    if (!entries.emplace(*number, trim(line.text.substr(blank))).second) {
      throw DataError(
          fmt::format("{}:{}: number {} occurs twice", path.string(), line.number, *number));
    }
  }
  std::vector<std::string> values;
  for (auto& [number, value] : entries) {
    if (number != static_cast<std::int64_t>(values.size()) + 1) {
      throw DataError(fmt::format("{}: number {} is missing", path.string(), values.size() + 1));
    }
    values.push_back(std::move(value));
  }
  if (values.empty()) throw DataError(fmt::format("{}: empty, expected {}", path.string(), what));
  return values;
}

std::size_t parse_class(const std::string& text, std::size_t classes, const std::string& where) {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > static_cast<std::int64_t>(classes)) {
    throw DataError(fmt::format("{}: class '{}', expected 1 to {}", where, text, classes));
  }
  return static_cast<std::size_t>(*number - 1);
}

/// Files that annotations name must exist. A test set of which nothing is there counts as absent.
void check_files(RawBenchmark& raw, const fs::path& annotations) {
  const auto missing = [&](const std::vector<RawBenchmark::Item>& items) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& item : items) {
      const std::string path = raw.sources.path(item.source);
      if (!fs::is_regular_file(path, error)) paths.push_back(path);
    }
    return paths;
  };
  const auto refuse = [&](const std::vector<std::string>& paths, std::string_view set) {
    throw DataError(fmt::format("{}: {} of the {} images it lists are missing, the first: {}",
                                annotations.string(), paths.size(), set, paths.front()));
  };
  if (raw.train.empty()) {
    throw DataError(fmt::format("{}: lists no training images", annotations.string()));
  }
  if (const auto paths = missing(raw.train); !paths.empty()) refuse(paths, "training");
  const auto paths = missing(raw.test);
  if (paths.size() == raw.test.size()) {
    raw.test.clear();
  } else if (!paths.empty()) {
    refuse(paths, "test");
  }
}

/// Cars' annotations give a file name and a class per record, by field name.
void read_car_annotations(const fs::path& annotations, const fs::path& images, std::size_t classes,
                          RawBenchmark& raw, std::vector<RawBenchmark::Item>& items) {
  const MatlabFile file(annotations);
  const MatlabArray& records = file.at("annotations");
  const std::uint32_t folder = raw.sources.add_folder(images.string());
  for (std::size_t i = 0; i < records.element_count(); ++i) {
    const MatlabArray *label = records.field(i, "class"), *name = records.field(i, "fname");
    const std::string where = fmt::format("{}: record {}", annotations.string(), i + 1);
    if (label == nullptr) {
      throw DataError(fmt::format("{}: no field 'class'", where),
                      "test labels are in cars_test_annos_withlabels.mat, not cars_test_annos.mat");
    }
    if (name == nullptr || name->text.empty() || name->text.find('/') != std::string::npos) {
      throw DataError(fmt::format("{}: no usable field 'fname'", where));
    }
    const bool single = label->element_count() == 1;
    const double number = !single                ? 0
                          : label->bytes.empty() ? (label->numbers.empty() ? 0 : label->numbers[0])
                                                 : std::to_integer<int>(label->bytes[0]);
    const auto class_id = parse_class(fmt::format("{}", number), classes, where);
    items.push_back(
        {raw.sources.add_file(folder, name->text), static_cast<std::int32_t>(class_id)});
  }
}

/// "0034309 A340-600 rest" -> image number and variant; the variant may hold blanks.
struct AircraftLine {
  std::string image, variant;
};

std::vector<AircraftLine> read_aircraft_lines(const fs::path& path) {
  std::vector<AircraftLine> lines;
  for (const auto& line : read_lines(path, "lines of image number and variant")) {
    const std::size_t blank = line.text.find(' ');
    if (blank == std::string::npos || blank == 0 ||
        line.text.find('/') < blank) {  // a variant may hold a slash: F-16A/B
      throw DataError(fmt::format("{}:{}: '{}' is not an image number and a variant", path.string(),
                                  line.number, line.text.substr(0, 100)));
    }
    lines.push_back({line.text.substr(0, blank), line.text.substr(blank + 1)});
  }
  return lines;
}

}  // namespace

RawBenchmark read_cub(const fs::path& root) {
  std::error_code error;
  const fs::path base =
      fs::exists(root / "CUB_200_2011", error) || !fs::exists(root / "images.txt", error)
          ? root / "CUB_200_2011"
          : root;
  const std::size_t classes = class_count(kCubSplit);
  const auto images = read_numbered(base / "images.txt", "lines of image number and path");
  const auto labels =
      read_numbered(base / "image_class_labels.txt", "lines of image number and class");
  const auto training =
      read_numbered(base / "train_test_split.txt", "lines of image number and 0/1");
  if (labels.size() != images.size() || training.size() != images.size()) {
    throw DataError(
        fmt::format("{}: images.txt lists {} images, image_class_labels.txt {}, "
                    "train_test_split.txt {}",
                    base.string(), images.size(), labels.size(), training.size()));
  }
  RawBenchmark raw;
  for (std::size_t i = 0; i < classes; ++i) raw.class_names.push_back(fmt::format("{:03}", i + 1));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const auto where = [&](std::string_view file) {
      return fmt::format("{}: image {}", (base / file).string(), i + 1);
    };
    const std::size_t id = parse_class(labels[i], classes, where("image_class_labels.txt"));
    const fs::path path = base / "images" / images[i];
    if (!path.has_filename()) throw DataError(where("images.txt") + ": no file name");
    const std::string folder = path.parent_path().filename().string();
    if (folder != "images") raw.class_names[id] = folder;
    if (training[i] != "0" && training[i] != "1") {
      throw DataError(
          fmt::format("{}: '{}', expected 0 or 1", where("train_test_split.txt"), training[i]));
    }
    auto& items = training[i] == "1" ? raw.train : raw.test;
    items.push_back({raw.sources.add_path(path), static_cast<std::int32_t>(id)});
  }
  check_files(raw, base / "images.txt");
  apply_split(raw, kCubSplit);
  return raw;
}

RawBenchmark read_scars(const fs::path& root) {
  const std::size_t classes = class_count(kScarsSplit);
  const fs::path train = root / "devkit/cars_train_annos.mat";
  const fs::path test = root / "devkit/cars_test_annos_withlabels.mat";
  std::error_code error;
  if (!fs::exists(train, error)) {
    throw DataError(
        fmt::format("{}: no such file; expected Stanford Cars' training annotations "
                    "(MATLAB v5)",
                    train.string()));
  }
  RawBenchmark raw;
  for (std::size_t i = 0; i < classes; ++i)
    raw.class_names.push_back(fmt::format("car-{:03}", i + 1));
  read_car_annotations(train, root / "cars_train", classes, raw, raw.train);
  if (fs::exists(test, error)) {
    read_car_annotations(test, root / "cars_test", classes, raw, raw.test);
  }
  check_files(raw, train);
  apply_split(raw, kScarsSplit);
  raw.drawn_order = true;
  return raw;
}

RawBenchmark read_aircraft(const fs::path& root) {
  std::error_code error;
  const fs::path inner = root / "fgvc-aircraft-2013b";
  const fs::path data = (fs::is_directory(inner, error) ? inner : root) / "data";
  const fs::path train = data / "images_variant_trainval.txt",
                 test = data / "images_variant_test.txt";
  const auto train_lines = read_aircraft_lines(train);
  const auto test_lines =
      fs::exists(test, error) ? read_aircraft_lines(test) : std::vector<AircraftLine>();
  RawBenchmark raw;
  for (const auto& line : train_lines) raw.class_names.push_back(line.variant);
  // The reference sorts the variants with their line ends, where one that is the beginning of
  // another is followed by '\n', which is below every other character: plain byte order.
  std::ranges::sort(raw.class_names);
  raw.class_names.erase(std::ranges::unique(raw.class_names).begin(), raw.class_names.end());
  const std::size_t classes = class_count(kAircraftSplit);
  if (raw.class_names.size() != classes) {
    throw DataError(fmt::format("{}: {} variants, expected {}", train.string(),
                                raw.class_names.size(), classes));
  }
  const std::uint32_t folder = raw.sources.add_folder((data / "images").string());
  const auto add = [&](const std::vector<AircraftLine>& lines, const fs::path& file,
                       std::vector<RawBenchmark::Item>& items) {
    for (const auto& line : lines) {
      const auto found = std::ranges::lower_bound(raw.class_names, line.variant);
      if (found == raw.class_names.end() || *found != line.variant) {
        throw DataError(fmt::format("{}: variant '{}' is not among the training variants",
                                    file.string(), line.variant));
      }
      items.push_back({raw.sources.add_file(folder, line.image + ".jpg"),
                       static_cast<std::int32_t>(found - raw.class_names.begin())});
    }
  };
  add(train_lines, train, raw.train);
  add(test_lines, test, raw.test);
  check_files(raw, train);
  apply_split(raw, kAircraftSplit);
  return raw;
}

}  // namespace protogcd
