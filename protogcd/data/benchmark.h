// The seven published benchmarks: their folders on disk, their old and new classes, and the
// labelled half of the old classes' images, exactly as the released code draws it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

struct RawBenchmark;

struct BenchmarkInfo {
  std::string_view name;  ///< what --dataset takes
  std::string_view title;
  std::string_view layout;  ///< what --root must hold
  std::size_t old_classes, classes;
  std::size_t labelled, unlabelled, test;  ///< published sizes
  RawBenchmark (*read)(const std::filesystem::path& root);
  bool has_ssb_split = false;  ///< published beside the classes by their numbers
};

std::span<const BenchmarkInfo> benchmarks();
/// UsageError with the nearest name if there is none of that name.
const BenchmarkInfo& find_benchmark(std::string_view name);

/// Which classes come first, and so are old.
enum class ClassOrder {
  kPublished,  ///< as in the published splits (SSB for CUB, Cars and Aircraft)
  kNatural     ///< by their numbers, as the released code without SSB splits; for those alone
};

constexpr double kLabelledShare = 0.5;  ///< of the old classes' images, as published

struct BenchmarkSplit {
  std::optional<std::size_t> old_classes = {};  ///< nothing: the published number
  double labelled_share = kLabelledShare;
  ClassOrder order = ClassOrder::kPublished;
};

/// Reads the layout below `root` and splits it. An absent test set is none; anything else that is
/// missing or wrong is a DataError that says what was expected, and where.
Dataset load_benchmark(std::string_view name, const std::filesystem::path& root,
                       const BenchmarkSplit& split = {});

// --- pieces, for tests ---

/// A dataset before it is split. Class ids are those of the published files, 0-based.
struct RawBenchmark {
  struct Item {
    std::uint32_t source;
    std::int32_t class_id;
  };
  SourceTable sources;
  std::vector<Item> train, test;              ///< in natural order
  std::vector<std::string> class_names;       ///< by class id
  std::vector<std::size_t> old_ids, new_ids;  ///< their order gives the labels
  /// Whether the reference keeps the drawn order inside the labelled set (CIFAR, ImageNet, Cars)
  /// or the natural one (CUB, Aircraft, Herbarium).
  bool drawn_order = false;
};

/// The common protocol: a share of the old-class training images, drawn with numpy's seed 0, is
/// labelled; all other training images are unlabelled. DataError if another share than the
/// published one leaves an old class without a label.
Dataset split_benchmark(RawBenchmark raw, std::string name, double labelled_share = kLabelledShare);
/// The classes by their numbers; as many are old as were.
void order_naturally(RawBenchmark& raw);

/// Old (first) and new class ids of ImageNet-100: positions in the sorted list of 1,000 folders.
std::vector<std::size_t> imagenet100_ids();
/// Old class ids of Herbarium 19, in the order of their labels.
std::vector<std::size_t> herbarium19_old_ids();

RawBenchmark read_cub(const std::filesystem::path& root);
RawBenchmark read_scars(const std::filesystem::path& root);
RawBenchmark read_aircraft(const std::filesystem::path& root);
RawBenchmark read_imagenet100(const std::filesystem::path& root);
RawBenchmark read_herbarium19(const std::filesystem::path& root);

}  // namespace protogcd
