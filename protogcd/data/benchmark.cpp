#include "protogcd/data/benchmark.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "protogcd/core/error.h"
#include "protogcd/core/numpy_random.h"
#include "protogcd/core/text.h"
#include "protogcd/data/cifar.h"
#include "protogcd/data/class_split.h"

namespace protogcd {
namespace {

void add_records(SourceTable& sources, const RecordFiles& files,
                 std::vector<RawBenchmark::Item>& items) {
  for (const auto& file : files) {
    const std::uint32_t place = sources.add_container(file);
    for (std::size_t i = 0; i < file->count; ++i) {
      items.push_back({sources.add_record(place, i), file->labels[i]});
    }
  }
}

RawBenchmark read_cifar(const std::filesystem::path& root, CifarKind kind,
                        std::size_t old_classes) {
  const CifarFiles files = open_cifar(root, kind);
  RawBenchmark raw;
  add_records(raw.sources, files.train, raw.train);
  add_records(raw.sources, files.test, raw.test);
  raw.class_names = files.class_names;
  raw.old_ids.resize(old_classes);
  std::iota(raw.old_ids.begin(), raw.old_ids.end(), 0);
  raw.new_ids.resize(raw.class_names.size() - old_classes);
  std::iota(raw.new_ids.begin(), raw.new_ids.end(), old_classes);
  raw.drawn_order = true;
  return raw;
}

RawBenchmark read_cifar10(const std::filesystem::path& root) {
  return read_cifar(root, CifarKind::kCifar10, 5);
}

RawBenchmark read_cifar100(const std::filesystem::path& root) {
  return read_cifar(root, CifarKind::kCifar100, 80);
}

constexpr std::array<BenchmarkInfo, 7> kBenchmarks = {{
    {"cifar10", "CIFAR-10",
     "cifar-10-batches-py/{data_batch_1..5,test_batch} or "
     "cifar-10-batches-bin/{data_batch_1..5,test_batch}.bin",
     5, 10, 12500, 37500, 10000, read_cifar10},
    {"cifar100", "CIFAR-100", "cifar-100-python/{train,test} or cifar-100-binary/{train,test}.bin",
     80, 100, 20000, 30000, 10000, read_cifar100},
    {"imagenet100", "ImageNet-100",
     "train/<wnid>/*.JPEG of all 1,000 classes (or of the 100), val/<wnid>/", 50, 100, 31860, 95255,
     5000, read_imagenet100},
    {"cub", "CUB-200-2011",
     "CUB_200_2011/{images.txt,image_class_labels.txt,train_test_split.txt,images/}", 100, 200,
     1498, 4496, 5794, read_cub, true},
    {"scars", "Stanford Cars",
     "devkit/{cars_train_annos.mat,cars_test_annos_withlabels.mat}, cars_train/, cars_test/", 98,
     196, 2000, 6144, 8041, read_scars, true},
    {"aircraft", "FGVC-Aircraft 2013b",
     "data/{images_variant_trainval.txt,images_variant_test.txt,images/}", 50, 100, 1666, 5001,
     3333, read_aircraft, true},
    {"herbarium19", "Herbarium 19", "small-train/<category>/, small-validation/<category>/", 341,
     683, 8869, 25356, 2679, read_herbarium19},
}};

}  // namespace

std::span<const BenchmarkInfo> benchmarks() {
  return kBenchmarks;
}

const BenchmarkInfo& find_benchmark(std::string_view name) {
  const auto found = std::ranges::find(kBenchmarks, name, &BenchmarkInfo::name);
  if (found != kBenchmarks.end()) return *found;
  std::vector<std::string> names;
  for (const auto& known : kBenchmarks) names.emplace_back(known.name);
  throw UsageError(fmt::format("{}: '{}' is unknown{} (known: {})", option_name("dataset"), name,
                               did_you_mean(name, names), join(names, ", ")));
}

Dataset load_benchmark(std::string_view name, const std::filesystem::path& root,
                       const BenchmarkSplit& split) {
  const BenchmarkInfo& info = find_benchmark(name);
  if (split.order == ClassOrder::kNatural && !info.has_ssb_split) {
    throw UsageError(
        fmt::format("{} natural: {} has no other published order; it is for those with a split of "
                    "SSB: cub, scars, aircraft",
                    option_name("class_order"), info.name));
  }
  std::error_code error;
  if (!std::filesystem::is_directory(root, error)) {
    throw DataError(fmt::format("{} {}: no such folder; {} needs: {}", option_name("root"),
                                root.string(), info.title, info.layout));
  }
  RawBenchmark raw = info.read(root);
  if (split.order == ClassOrder::kNatural) order_naturally(raw);
  if (split.old_classes) choose_old_classes(raw, *split.old_classes);
  return split_benchmark(std::move(raw), std::string(info.name), split.labelled_share);
}

void order_naturally(RawBenchmark& raw) {
  const std::size_t old_classes = raw.old_ids.size();
  raw.old_ids.insert(raw.old_ids.end(), raw.new_ids.begin(), raw.new_ids.end());
  raw.new_ids.clear();
  std::ranges::sort(raw.old_ids);
  choose_old_classes(raw, old_classes);
}

Dataset split_benchmark(RawBenchmark raw, std::string name, double labelled_share) {
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.old_classes = raw.old_ids.size();
  std::vector<std::int32_t> label_of(raw.class_names.size(), kNoClass);
  for (const auto* ids : {&raw.old_ids, &raw.new_ids}) {
    for (const std::size_t id : *ids) {
      label_of.at(id) = static_cast<std::int32_t>(dataset.classes.size());
      dataset.classes.push_back(raw.class_names[id]);
    }
  }
  std::vector<std::size_t> old_items;
  for (std::size_t i = 0; i < raw.train.size(); ++i) {
    if (dataset.is_old(label_of.at(raw.train[i].class_id))) old_items.push_back(i);
  }
  auto drawn = NumpyRandom(0).choice(old_items.size(), share_of(old_items.size(), labelled_share));
  if (!raw.drawn_order) std::ranges::sort(drawn);
  std::vector<bool> is_labelled(raw.train.size());
  const auto add = [&](const RawBenchmark::Item& item, SampleSet set) {
    const std::int32_t truth = label_of.at(item.class_id);
    const std::int32_t label = set == SampleSet::kLabelled ? truth : kNoClass;
    dataset.samples.push_back({.source = item.source, .label = label, .truth = truth, .set = set});
  };
  for (const std::size_t position : drawn) {
    is_labelled[old_items[position]] = true;
    add(raw.train[old_items[position]], SampleSet::kLabelled);
  }
  for (std::size_t i = 0; i < raw.train.size(); ++i) {
    if (!is_labelled[i]) add(raw.train[i], SampleSet::kUnlabelled);
  }
  for (const auto& item : raw.test) add(item, SampleSet::kTest);
  dataset.sources = std::move(raw.sources);
  // The published draw is what it is, also of a part of a dataset.
  if (labelled_share != kLabelledShare)
    check_old_classes_are_labelled(
        dataset, fmt::format("{} {}", option_name("labelled_share"), labelled_share));
  return dataset;
}

std::vector<std::size_t> imagenet100_ids() {
  auto ids = NumpyRandom(0).choice(1000, 100);
  std::ranges::sort(ids);
  return ids;
}

std::vector<std::size_t> herbarium19_old_ids() {
  return NumpyRandom(0).choice(683, 341);
}

}  // namespace protogcd
