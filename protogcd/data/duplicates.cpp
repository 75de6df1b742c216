#include "protogcd/data/duplicates.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "protogcd/core/error.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/sha256.h"

namespace protogcd {
namespace {

constexpr std::size_t kEnd = 4096;  // bytes of head and of tail

using Digest = Sha256::Digest;

Digest digest_of(const MappedFile& file, bool whole) {
  const auto bytes = file.bytes();
  Sha256 hash;
  if (whole || bytes.size() <= 2 * kEnd) {
    hash.update(bytes);
  } else {
    hash.update(bytes.first(kEnd));
    hash.update(bytes.last(kEnd));
  }
  return hash.finish();
}

/// Calls `use` with every run of at least two items that `same` joins; items are sorted so that
/// equal ones are neighbours.
template <class Items, class Same, class Use>
void for_runs(Items& items, Same same, Use use) {
  for (std::size_t begin = 0, end = 0; begin < items.size(); begin = end) {
    for (end = begin; end < items.size() && same(items[begin], items[end]);) ++end;
    if (end - begin > 1) use(std::span(items).subspan(begin, end - begin));
  }
}

struct Sized {
  std::uint64_t size;
  std::size_t sample;
};

struct Hashed {
  Digest digest;
  std::size_t sample;
};

class Finder {
 public:
  explicit Finder(const Dataset& dataset) : dataset_(dataset) {}

  DuplicateReport find() {
    std::vector<Sized> files;
    for (std::size_t i = 0; i < dataset_.samples.size(); ++i) {
      const std::uint32_t source = dataset_.samples[i].source;
      if (dataset_.sources.is_record(source) || dataset_.sources.box(source) ||
          dataset_.sources.packed(source))
        continue;
      struct stat status {};
      if (::stat(path(i).c_str(), &status) != 0) {
        report_.unreadable.push_back(fmt::format("{}: {}", path(i), std::strerror(errno)));
      } else if (!S_ISREG(status.st_mode)) {
        report_.unreadable.push_back(fmt::format("{}: not a regular file", path(i)));
      } else {
        files.push_back({static_cast<std::uint64_t>(status.st_size), i});
      }
    }
    std::ranges::stable_sort(files, {}, &Sized::size);
    for_runs(
        files, [](const Sized& a, const Sized& b) { return a.size == b.size; },
        [this](std::span<Sized> run) {
          std::vector<std::size_t> samples;
          for (const auto& file : run) samples.push_back(file.sample);
          compare(samples, false);
        });
    std::ranges::sort(report_.groups);
    return std::move(report_);
  }

 private:
  std::string path(std::size_t sample) const {
    return dataset_.sources.path(dataset_.samples[sample].source);
  }

  void compare(const std::vector<std::size_t>& samples, bool whole) {
    std::vector<Hashed> hashed;
    for (const std::size_t sample : samples) {
      try {
        hashed.push_back({digest_of(MappedFile(path(sample)), whole), sample});
      } catch (const FileError& error) {
        report_.unreadable.emplace_back(error.what());
      }
    }
    std::ranges::stable_sort(hashed, {}, &Hashed::digest);
    for_runs(
        hashed, [](const Hashed& a, const Hashed& b) { return a.digest == b.digest; },
        [this, whole](std::span<Hashed> run) {
          std::vector<std::size_t> equal;
          for (const auto& file : run) equal.push_back(file.sample);
          if (whole) {
            report_.groups.push_back(equal);
          } else {
            compare(equal, true);
          }
        });
  }

  const Dataset& dataset_;
  DuplicateReport report_;
};

}  // namespace

std::size_t DuplicateReport::extra_files() const {
  std::size_t count = 0;
  for (const auto& group : groups) count += group.size() - 1;
  return count;
}

DuplicateReport find_duplicates(const Dataset& dataset) {
  return Finder(dataset).find();
}

}  // namespace protogcd
