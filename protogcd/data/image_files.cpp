#include "protogcd/data/image_files.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "protogcd/core/text.h"
#include "protogcd/data/class_numbers.h"
#include "protogcd/image/formats.h"
#include "protogcd/image/tiff_directory.h"

namespace protogcd {
namespace {

// Links to folders within one path. A tree of links could otherwise be walked in exponentially many
// ways without ever closing a loop.
constexpr int kMostLinksInPath = 8;

struct FolderEntry {
  std::string name;
  const ImageKind* kind;  ///< null for a folder and a tar file
  bool link;
  bool is_packed = false;
};

std::string path_in(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

class Lister {
 public:
  Lister(SourceTable& sources, ImageListing& listing) : sources_(sources), listing_(listing) {}

  void visit(const std::string& folder, int links, bool is_root) {
    struct stat status {};
    const bool known = ::stat(folder.c_str(), &status) == 0;
    const std::pair<dev_t, ino_t> identity{status.st_dev, status.st_ino};
    if (known && std::ranges::find(open_folders_, identity) != open_folders_.end()) {
      listing_.problems.push_back(folder + ": a link back into a folder it is in, not followed");
      return;
    }
    std::vector<FolderEntry> entries;
    const int code = known ? read(folder, entries) : errno;
    if (code != 0) {
      const std::string problem = fmt::format("{}: {}", folder, std::strerror(code));
      if (is_root) throw DataError(fmt::format("{}: cannot list the folder", problem));
      listing_.problems.push_back(problem);
      return;
    }
    open_folders_.push_back(identity);
    std::ranges::sort(entries, {}, &FolderEntry::name);
    add_images(folder, entries);
    for (const auto& entry : entries)
      if (entry.is_packed) add_packed(path_in(folder, entry.name));
    if (entries.empty() && !is_root) listing_.empty_folders.push_back(folder);
    for (const auto& entry : entries) {
      if (entry.kind == nullptr && !entry.is_packed) descend(folder, entry, links);
    }
    open_folders_.pop_back();
  }

  void add_packed(const std::string& path) {
    const auto packed = PackedImages::open(path);
    listing_.several_pages += packed->several_pages();
    note_left_out(path, packed->left_out());
    if (packed->images().empty()) {
      listing_.problems.push_back(path + ": no image in this tar file");
      return;
    }
    sources_.add_packed(path, packed);
    listing_.labels.resize(listing_.count, -1);  // of the files before
    for (const PackedImages::Image& image : packed->images())
      listing_.labels.push_back(
          image.label < 0
              ? -1
              : number_of(packed->label_names()[static_cast<std::size_t>(image.label)]));
    listing_.count += static_cast<std::uint32_t>(packed->images().size());
  }

 private:
  /// Fills `entries` with images and folders; returns an errno code.
  int read(const std::string& folder, std::vector<FolderEntry>& entries) {
    DIR* stream = ::opendir(folder.c_str());
    if (stream == nullptr) return errno;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(stream);
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (name.starts_with('.')) {
        ++listing_.hidden_files;
      } else {
        add_entry(folder, name, entry->d_type, entries);
      }
    }
    const int code = errno;
    ::closedir(stream);
    return code;
  }

  void add_entry(const std::string& folder, const std::string& name, unsigned char type,
                 std::vector<FolderEntry>& entries) {
    bool is_folder = type == DT_DIR, is_file = type == DT_REG;
    if (type == DT_LNK || type == DT_UNKNOWN) {
      struct stat status {};
      const std::string path = folder + "/" + name;
      if (::stat(path.c_str(), &status) != 0) {
        const int code = errno;
        // A dangling link to something that is no image does not concern us.
        if (kind_of_file_name(name) != nullptr || code != ENOENT) {
          listing_.problems.push_back(fmt::format("{}: {}", path, std::strerror(code)));
        }
        return;
      }
      is_folder = S_ISDIR(status.st_mode);
      is_file = S_ISREG(status.st_mode);
    }
    const ImageKind* kind = is_file ? kind_of_file_name(name) : nullptr;
    const bool is_packed = is_file && is_packed_name(name);
    if (is_folder || is_packed || kind != nullptr) {
      entries.push_back({name, kind, type == DT_LNK, is_packed});
    } else {
      ++listing_.ignored_files;
    }
  }

  void add_images(const std::string& folder, const std::vector<FolderEntry>& entries) {
    bool known = false;
    std::uint32_t place = 0;
    for (const auto& entry : entries) {
      if (entry.kind == nullptr) continue;
      const std::string path = path_in(folder, entry.name);
      if (!entry.kind->obstacle.empty()) {
        add_unreadable(path, *entry.kind);
        continue;
      }
      if (!known) place = sources_.add_folder(folder);
      known = true;
      sources_.add_file(place, entry.name);
      ++listing_.count;
      if (entry.kind->name == "tiff" && has_several_tiff_pages(path)) ++listing_.several_pages;
    }
  }

  void note_left_out(const std::string& tar, const PackedImages::LeftOut& left_out) {
    listing_.ignored_files += left_out.ignored;
    listing_.hidden_files += left_out.hidden;
    for (const std::string& name : left_out.unreadable)
      add_unreadable(path_in(tar, name), *kind_of_file_name(name));
    if (!left_out.outside.empty()) {
      listing_.problems.push_back(
          fmt::format("{}: {} names that lead out of the archive are left out: {}", tar,
                      left_out.outside.size(), few_of(left_out.outside)));
    }
    for (const std::string& name : left_out.outside)
      sources_.add_unreadable(tar, fmt::format("'{}' leads out of the archive", name));
    if (!left_out.links.empty()) {
      listing_.problems.push_back(
          fmt::format("{}: {} links to other files are left out (pack the files themselves): {}",
                      tar, left_out.links.size(), few_of(left_out.links)));
    }
    for (const std::string& name : left_out.links)
      sources_.add_unreadable(path_in(tar, name), "a link to another file");
  }

  void add_unreadable(const std::string& path, const ImageKind& kind) {
    sources_.add_unreadable(path, kind.obstacle);
    ++listing_.unreadable[lower_extension(path)];
  }

  std::int32_t number_of(const std::string& label) {
    const std::int32_t number = labels_(label);
    if (labels_.names().size() > listing_.label_names.size()) listing_.label_names.push_back(label);
    return number;
  }

  void descend(const std::string& folder, const FolderEntry& entry, int links) {
    const std::string path = path_in(folder, entry.name);
    const int links_so_far = links + (entry.link ? 1 : 0);
    if (links_so_far > kMostLinksInPath) {
      listing_.problems.push_back(path + ": too many links in one path, not followed");
    } else {
      visit(path, links_so_far, false);
    }
  }

  SourceTable& sources_;
  ImageListing& listing_;
  ClassNumbers labels_;
  std::vector<std::pair<dev_t, ino_t>> open_folders_;
};

}  // namespace

ImageListing list_images(const std::filesystem::path& root, SourceTable& sources) {
  ImageListing listing;
  listing.first = static_cast<std::uint32_t>(sources.size());
  std::string folder = root.string();
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  Lister(sources, listing).visit(folder.empty() ? "." : folder, 0, true);
  if (!listing.labels.empty()) listing.labels.resize(listing.count, -1);
  return listing;
}

ImageListing list_packed(const std::filesystem::path& tar_file, SourceTable& sources) {
  ImageListing listing;
  listing.first = static_cast<std::uint32_t>(sources.size());
  Lister(sources, listing).add_packed(tar_file.string());
  return listing;
}

ImageListing list_images_of(const std::filesystem::path& text_file, SourceTable& sources) {
  std::ifstream text(text_file, std::ios::binary);
  if (!text) throw FileError(fmt::format("{}: {}", text_file.string(), std::strerror(errno)));
  return list_images_of(text, text_file.string(), text_file.parent_path().string(), sources);
}

ImageListing list_images_of(std::istream& text, const std::string& origin,
                            const std::string& folder, SourceTable& sources) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  ImageListing listing;
  listing.first = static_cast<std::uint32_t>(sources.size());
  std::string last_folder, own_folder;
  std::uint32_t place = 0;
  std::uint64_t number = 0;
  for (std::string line; std::getline(text, line);) {
    if (++number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    const std::size_t slash = line.rfind('/');
    const std::string_view name = std::string_view(line).substr(slash == line.npos ? 0 : slash + 1);
    if (name.empty() || line.find('\0') != line.npos)
      throw DataError(
          fmt::format("{}:{}: '{}' is no path of a file", origin, number, one_line(line)));
    const std::string_view before =
        std::string_view(line).substr(0, slash == line.npos ? 0 : slash + 1);
    // Lists name a folder's files one after another.
    if (listing.count == 0 || before != last_folder) {
      last_folder = before;
      const std::string path = before.starts_with('/') || folder.empty()
                                   ? std::string(before)
                                   : fmt::format("{}/{}", folder, before);
      place = sources.add_folder(
          path.size() > 1 && path.ends_with('/') ? path.substr(0, path.size() - 1) : path);
    }
    sources.add_file(place, name);
    ++listing.count;
  }
  if (text.bad()) throw FileError(fmt::format("{}: cannot be read beyond line {}", origin, number));
  return listing;
}

std::vector<std::string> listing_warnings(const std::filesystem::path& root,
                                          const ImageListing& listing) {
  std::vector<std::string> warnings = listing.problems;
  if (listing.unreadable.empty()) return warnings;
  // Extensions of one kind share what is to be done.
  std::map<std::string, std::vector<std::string>> counts;
  std::uint64_t all = 0;
  for (const auto& [extension, count] : listing.unreadable) {
    counts[kind_of_file_name("a." + extension)->obstacle].push_back(
        fmt::format("{} {}", count, extension));
    all += count;
  }
  std::vector<std::string> kinds;
  for (const auto& [obstacle, files] : counts)
    kinds.push_back(fmt::format("{} ({})", join(files, ", "), obstacle));
  warnings.push_back(
      fmt::format("{}: {} image files are of kinds that cannot be read and are left "
                  "out: {}",
                  root.string(), all, join(kinds, "; ")));
  return warnings;
}

std::vector<std::string> listing_notes(const std::filesystem::path& root,
                                       const ImageListing& listing) {
  std::vector<std::string> notes;
  if (listing.ignored_files > 0) {
    notes.push_back(fmt::format("{}: {} other files ignored (not {})", root.string(),
                                listing.ignored_files, supported_extensions()));
  }
  if (listing.several_pages > 0) {
    notes.push_back(fmt::format("{}: {} TIFF files have several pages; the first is used",
                                root.string(), listing.several_pages));
  }
  return notes;
}

DataError no_images_error(const std::string& folder, const ImageListing& listing) {
  if (!listing.unreadable.empty()) return DataError(listing_warnings(folder, listing).back());
  return DataError(fmt::format("{}: no image files below this folder", folder),
                   listing.problems.empty()
                       ? "images are found by extension: " + supported_extensions()
                       : join(listing.problems, "\n  "));
}

}  // namespace protogcd
