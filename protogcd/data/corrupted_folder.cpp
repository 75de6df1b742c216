#include "protogcd/data/corrupted_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/drawn/drawn_folder.h"
#include "protogcd/data/image_files.h"
#include "protogcd/data/skipped.h"
#include "protogcd/image/contact_sheet.h"
#include "protogcd/image/decode.h"
#include "protogcd/image/resize.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

bool lies_within(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// A later run would take the output of this one for images, or replace its own input.
void check_apart(const CorruptOptions& options) {
  const fs::path images = comparable_path(options.images), out = comparable_path(options.out);
  if (lies_within(out, images) || lies_within(images, out)) {
    throw UsageError(
        fmt::format("{}: '{}' and {} '{}' lie in one another", option_name("out"),
                    options.out.string(), option_name("images"), options.images.string()),
        "choose a folder beside the images");
  }
}

/// Nothing but folders and PNG files.
bool holds_only_pngs(const fs::path& folder) {
  return std::ranges::all_of(folder_entries(folder), [](const auto& entry) {
    return !entry.is_symlink() && (entry.is_directory() ? holds_only_pngs(entry.path())
                                                        : entry.path().extension() == ".png");
  });
}

bool is_severity_folder(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return entry.is_directory() && !entry.is_symlink() && name.size() == 1 && name >= "1" &&
         name <= "5" && holds_only_pngs(entry.path());
}

bool is_corruption_folder(const fs::directory_entry& entry) {
  const auto names = corruption_names();
  return entry.is_directory() && !entry.is_symlink() &&
         std::ranges::find(names, entry.path().filename().string()) != names.end() &&
         std::ranges::all_of(folder_entries(entry.path()), is_severity_folder);
}

bool is_corrupted_folder(const fs::path& folder) {
  return fs::is_directory(folder) &&
         std::ranges::all_of(folder_entries(folder), [](const auto& entry) {
           return is_corruption_folder(entry) || entry.path().filename() == kSkippedFile;
         });
}

struct FoundImages {
  SourceTable sources;
  std::vector<std::string> names;  ///< of each source: its path below the folder
};

FoundImages find_images(const fs::path& folder, const Logger* log) {
  FoundImages found;
  const ImageListing listing = list_images(folder, found.sources);
  if (listing.count == 0) throw no_images_error(folder.string(), listing);
  for (const auto& warning : listing_warnings(folder, listing)) {
    if (log != nullptr) log->warning(warning);
  }
  for (const auto& note : listing_notes(folder, listing)) {
    if (log != nullptr) log->info(note);
  }
  for (std::size_t i = 0; i < found.sources.size(); ++i) {
    found.names.push_back(fs::path(found.sources.path(i)).lexically_relative(folder).string());
  }
  return found;
}

/// The names with the extension .png, so that lists of PNG images hold for the corrupted ones too.
std::vector<std::string> png_names(const FoundImages& found) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> owners;
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    names.push_back(fs::path(found.names[i]).replace_extension(".png").string());
    const auto [owner, is_new] = owners.emplace(names.back(), i);
    if (!is_new) {
      throw DataError(
          fmt::format("{} and {} would both be written as {}", found.sources.path(owner->second),
                      found.sources.path(i), names.back()),
          "rename one of them");
    }
  }
  return names;
}

ImageOrBad read_photo(const std::string& path) {
  constexpr int kLongestJpegSide = 65500;  // what libjpeg can compress
  auto result = read_image(path, {.apply_orientation = true});
  if (const auto* image = std::get_if<Image>(&result);
      image != nullptr && std::max(image->width, image->height) > kLongestJpegSide) {
    return BadImage{fmt::format("{}x{} pixels, more than {} along a side", image->width,
                                image->height, kLongestJpegSide)};
  }
  return result;
}

/// A number for a name that other names do not change.
std::uint64_t position_of(std::string_view name) {
  constexpr std::size_t kBytes = 6;  // a position has 48 bits
  Sha256 hash;
  hash.update(name);
  const auto digest = hash.finish();
  std::uint64_t position = 0;
  for (std::size_t i = 0; i < kBytes; ++i) position = position << 8 | digest[i];
  return position;
}

Image corrupt_named(const Image& image, std::string_view name, const Corruption& corruption,
                    int severity, std::uint64_t seed) {
  RandomStream random({.seed = seed,
                       .purpose = RandomPurpose::kCorruption,
                       .epoch = static_cast<std::uint32_t>(&corruption - corruptions().data()),
                       .position = position_of(name),
                       .view = static_cast<std::uint8_t>(severity)});
  return corrupt(image, corruption, severity, random);
}

std::string variant_folder(const Corruption& corruption, int severity) {
  return fmt::format("{}/{}", corruption.name, severity);
}

void create_variant_folders(const CorruptOptions& options, std::span<const std::string> names,
                            const fs::path& out) {
  std::set<fs::path> folders;
  for (const std::string& name : names) folders.insert(fs::path(name).parent_path());
  for (const Corruption* corruption : options.corruptions) {
    for (const int severity : options.severities) {
      for (const fs::path& folder : folders) {
        create_folders(out / variant_folder(*corruption, severity) / folder);
      }
    }
  }
}

}  // namespace

CorruptSummary write_corrupted_images(const CorruptOptions& options, const BadImagePolicy& policy,
                                      const Context& context) {
  check_apart(options);
  const FoundImages found = find_images(options.images, &context.log);
  const auto outputs = png_names(found);
  drawn::DrawnFolder folder(options.out, options.overwrite, "folder of corrupted images",
                            is_corrupted_folder);
  create_variant_folders(options, outputs, folder.path());
  SkippedFiles skipped(policy, outputs.size());
  Progress progress("corrupt", outputs.size(), "images", context.progress());
  ThreadPool pool(context.threads);
  pool.for_each(outputs.size(), [&](std::size_t i) {
    const auto result = read_photo(found.sources.path(i));
    if (const auto* bad = std::get_if<BadImage>(&result)) {
      skipped.add(found.sources, i, bad->reason);
      return;
    }
    for (const Corruption* corruption : options.corruptions) {
      for (const int severity : options.severities) {
        if (context.interrupted()) {
          throw InterruptedError("stopped while corrupting images",
                                 "nothing was written; repeat the command to start again");
        }
        folder.write_image(variant_folder(*corruption, severity) + "/" + outputs[i],
                           corrupt_named(std::get<Image>(result), found.names[i], *corruption,
                                         severity, context.seed));
      }
    }
    progress.add();
  });
  const std::size_t good = outputs.size() - skipped.count();
  if (good == 0) {
    throw DataError(fmt::format("{}: no image could be read", options.images.string()));
  }
  skipped.write_if_any(folder.path() / kSkippedFile, found.sources);
  progress.finish();
  skipped.check(found.sources);
  folder.put_in_place();
  return {.images = good,
          .skipped = skipped.listed(found.sources),
          .files = good * options.corruptions.size() * options.severities.size()};
}

Image corruption_sheet(const CorruptOptions& options, std::uint64_t seed) {
  constexpr int kShortSide = 224;  // what the constants of larger images were chosen for
  const FoundImages found = find_images(options.images, nullptr);
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    auto result = read_photo(found.sources.path(i));
    if (const auto* image = std::get_if<Image>(&result);
        image != nullptr && std::min(image->width, image->height) > kShortSide) {
      result = resize_short_side(*image, kShortSide);
    }
    const auto* image = std::get_if<Image>(&result);
    if (image == nullptr) continue;
    std::vector<Image> tiles;
    for (const Corruption* corruption : options.corruptions) {
      tiles.push_back(*image);
      for (const int severity : options.severities) {
        tiles.push_back(corrupt_named(*image, found.names[i], *corruption, severity, seed));
      }
    }
    return contact_sheet(tiles, static_cast<int>(options.severities.size()) + 1);
  }
  throw DataError(fmt::format("{}: no image could be read", options.images.string()));
}

}  // namespace protogcd
