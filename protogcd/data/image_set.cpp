#include "protogcd/data/image_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/cifar.h"
#include "protogcd/data/image_files.h"

namespace protogcd {
namespace {

void add_records(ImageSet& set, const RecordFiles& files) {
  for (const auto& file : files) {
    const std::uint32_t place = set.sources.add_container(file);
    for (std::size_t i = 0; i < file->count; ++i) {
      set.sources.add_record(place, i);
      set.class_ids.push_back(file->labels[i]);
    }
  }
}

/// "ROOT:fog:3" -> its parts, split from the right, as ROOT may hold colons.
void open_corrupted(ImageSet& set, const std::string& text, const std::string& rest) {
  const std::size_t second = rest.rfind(':');
  const std::size_t first =
      second == 0 || second == std::string::npos ? std::string::npos : rest.rfind(':', second - 1);
  const auto severity =
      first == std::string::npos ? std::nullopt : parse_integer(rest.substr(second + 1));
  if (!severity || *severity < 1 || *severity > 5) {
    throw UsageError(
        fmt::format("'{}': expected cifar10-c:ROOT:CORRUPTION:SEVERITY with a "
                    "severity of 1 to 5",
                    text));
  }
  const std::string corruption = rest.substr(first + 1, second - first - 1);
  add_records(set, {open_cifar_c(rest.substr(0, first), corruption, static_cast<int>(*severity))});
  set.name = fmt::format("{}-{}", corruption, *severity);
}

/// Test images of a benchmark whose images are files.
void add_test_half(ImageSet& set, const BenchmarkInfo& info, const std::string& root) {
  const RawBenchmark raw = info.read(root);
  if (raw.test.empty())
    throw DataError(fmt::format("{}:{}: there are no test images", info.name, root));
  for (const RawBenchmark::Item& item : raw.test) {
    set.sources.add_path(raw.sources.path(item.source));
    set.class_ids.push_back(item.class_id);
  }
}

void tell_oddities(const std::string& text, const ImageListing& listing, const Logger& log) {
  for (const auto& note : listing_notes(text, listing)) log.info(note);
  for (const auto& warning : listing_warnings(text, listing)) log.warning(warning);
}

}  // namespace

ImageSet open_image_set(const std::string& text, const Logger& log) {
  ImageSet set;
  std::error_code error;
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool is_folder = std::filesystem::is_directory(text, error);
  if (std::filesystem::is_regular_file(text, error)) {
    set.name = std::filesystem::path(text).filename().string();
    ImageListing listing;
    if (is_packed_name(text))
      listing = list_packed(text, set.sources);
    else if (text.ends_with(".txt"))
      listing = list_images_of(text, set.sources);
    else
      set.sources.add_path(text);
    if (set.sources.size() == 0) {
      throw DataError(fmt::format("{}: no images in it", text),
                      join(listing_warnings(text, listing), "\n  "));
    }
    tell_oddities(text, listing, log);
    return set;
  }
  if (!is_folder && colon != std::string::npos) {
    const std::string rest = text.substr(colon + 1);
    set.name = kind;
    const auto known = std::ranges::find(benchmarks(), kind, &BenchmarkInfo::name);
    set.is_benchmark = known != benchmarks().end();
    if (kind == "cifar10" || kind == "cifar100") {
      const auto cifar = kind == "cifar10" ? CifarKind::kCifar10 : CifarKind::kCifar100;
      add_records(set, open_cifar_test(rest, cifar).test);
      return set;
    }
    if (set.is_benchmark) {
      add_test_half(set, *known, rest);
      return set;
    }
    if (kind == "svhn") {
      add_records(set, {open_svhn(rest)});
      return set;
    }
    if (kind == "cifar10-c" || kind == "cifar100-c") {
      open_corrupted(set, text, rest);
      return set;
    }
  }
  if (!is_folder) {
    throw DataError(fmt::format("'{}': no such folder of images", text),
                    "also known: the test images of a dataset (cifar10:ROOT, imagenet100:ROOT, "
                    "...), svhn:ROOT, cifar10-c:ROOT:CORRUPTION:SEVERITY");
  }
  const ImageListing listing = list_images(text, set.sources);
  if (listing.count == 0) throw no_images_error(text, listing);
  tell_oddities(text, listing, log);
  set.name = std::filesystem::path(comparable_path(text)).filename().string();
  return set;
}

}  // namespace protogcd
