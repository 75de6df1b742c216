// Benchmarks that are folders of class folders: ImageNet-100 and Herbarium 19.
#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "protogcd/core/error.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/image_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// The names of the folders in a folder, sorted by bytes: '10' comes before '2'.
std::vector<std::string> class_folders(const fs::path& folder, std::string_view what) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && entry->is_directory()) names.push_back(name);
  }
  if (error) {
    throw DataError(fmt::format("{}: cannot list the folder: {}; expected {}", folder.string(),
                                error.message(), what));
  }
  std::ranges::sort(names);
  return names;
}

void add_class_folder(RawBenchmark& raw, std::vector<RawBenchmark::Item>& items,
                      const fs::path& folder, std::size_t class_id) {
  const ImageListing listing = list_images(folder, raw.sources);
  for (std::uint32_t i = 0; i < listing.count; ++i) {
    items.push_back({listing.first + i, static_cast<std::int32_t>(class_id)});
  }
  if (listing.problems.empty()) return;
  throw DataError(fmt::format("{}: cannot be read in full", listing.problems.front()));
}

/// A test folder may hold any of the classes, but no others. Classes that the benchmark leaves out
/// are passed over.
void add_test(RawBenchmark& raw, const fs::path& folder, const std::vector<std::string>& all_names,
              const std::unordered_map<std::string, std::size_t>& class_ids) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return;
  for (const auto& name : class_folders(folder, "a folder per class")) {
    if (!std::ranges::binary_search(all_names, name)) {
      throw DataError(fmt::format("{}: a class that the training folder does not have",
                                  (folder / name).string()));
    }
    const auto found = class_ids.find(name);
    if (found != class_ids.end()) add_class_folder(raw, raw.test, folder / name, found->second);
  }
}

/// Fills train and test from the chosen ones of the class folders.
void read_class_folders(RawBenchmark& raw, const fs::path& train, const fs::path& test,
                        const std::vector<std::string>& names,
                        const std::vector<std::size_t>& chosen) {
  std::unordered_map<std::string, std::size_t> class_ids;
  for (const std::size_t index : chosen) {
    const std::size_t id = raw.class_names.size();
    raw.class_names.push_back(names[index]);
    class_ids[names[index]] = id;
    add_class_folder(raw, raw.train, train / names[index], id);
  }
  if (raw.train.empty()) throw DataError(fmt::format("{}: holds no images", train.string()));
  add_test(raw, test, names, class_ids);
}

std::vector<std::size_t> numbers_below(std::size_t end, std::size_t begin = 0) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

}  // namespace

RawBenchmark read_imagenet100(const fs::path& root) {
  constexpr std::size_t kAll = 1000, kChosen = 100, kOld = 50;
  const fs::path train = root / "train";
  const auto names = class_folders(train, "the 1,000 class folders of ImageNet");
  // Many keep only the hundred classes on disk. Their order is that of the full list.
  if (names.size() != kAll && names.size() != kChosen) {
    throw DataError(
        fmt::format("{}: {} class folders, expected the 1,000 of ImageNet (or the 100 "
                    "of ImageNet-100)",
                    train.string(), names.size()));
  }
  RawBenchmark raw;
  read_class_folders(raw, train, root / "val", names,
                     names.size() == kAll ? imagenet100_ids() : numbers_below(kChosen));
  raw.old_ids = numbers_below(kOld);
  raw.new_ids = numbers_below(kChosen, kOld);
  raw.drawn_order = true;
  return raw;
}

RawBenchmark read_herbarium19(const fs::path& root) {
  constexpr std::size_t kClasses = 683;
  const fs::path train = root / "small-train";
  const auto names = class_folders(train, "the 683 category folders of Herbarium 19");
  if (names.size() != kClasses) {
    throw DataError(fmt::format("{}: {} category folders, expected {}", train.string(),
                                names.size(), kClasses));
  }
  RawBenchmark raw;
  read_class_folders(raw, train, root / "small-validation", names, numbers_below(kClasses));
  raw.old_ids = herbarium19_old_ids();
  std::vector<bool> is_old(kClasses);
  for (const std::size_t id : raw.old_ids) is_old[id] = true;
  for (std::size_t id = 0; id < kClasses; ++id) {
    if (!is_old[id]) raw.new_ids.push_back(id);
  }
  return raw;
}

}  // namespace protogcd
