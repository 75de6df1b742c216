#include "protogcd/run/moved_images.h"

#include <algorithm>
#include <string>

#include "protogcd/core/text.h"
#include "protogcd/data/boxed_path.h"
#include "protogcd/data/packed_images.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// Whether the file is there, or that which it is a box or a record of, or lies in.
bool exists_on_disk(const fs::path& image) {
  std::error_code error;
  const std::string text = image.string();
  if (fs::exists(image, error) || archive_in_path(text)) return true;
  if (const auto boxed = split_boxed_path(text)) return fs::exists(boxed->file, error);
  const std::size_t mark = text.rfind('#');
  return mark != std::string::npos && parse_unsigned(std::string_view(text).substr(mark + 1)) &&
         fs::exists(text.substr(0, mark), error);
}

/// The folder that all of these lie in, directly or not.
fs::path common_folder(const std::vector<fs::path>& images) {
  fs::path common = images.front().parent_path();
  for (const fs::path& image : images) {
    const fs::path folder = image.parent_path();
    const auto end =
        std::mismatch(common.begin(), common.end(), folder.begin(), folder.end()).first;
    if (end == common.end()) continue;
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common;
}

/// The folders that may stand in for `common`: the root with the longest end of its path first, the
/// root alone last; those that exist.
std::vector<fs::path> replacements(const fs::path& common, const fs::path& root) {
  const fs::path below = common.relative_path();
  std::vector<fs::path> folders;
  for (auto first = below.begin(); first != below.end(); ++first) {
    fs::path folder = root;
    for (auto part = first; part != below.end(); ++part) folder /= *part;
    std::error_code error;
    if (fs::is_directory(folder, error) || archive_in_path(folder.string() + '/'))
      folders.push_back(folder);
  }
  folders.push_back(root);
  return folders;
}

}  // namespace

LocatedImages locate_images(const std::vector<fs::path>& images, const fs::path& root,
                            const std::function<bool(const fs::path&)>& found_there) {
  const auto is_there = [&](const fs::path& image) {
    return found_there ? found_there(image) : exists_on_disk(image);
  };
  LocatedImages result{.files = images};
  if (root.empty() || images.empty()) return result;
  std::vector<fs::path> full;
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < images.size(); ++i) {
    full.push_back(fs::absolute(images[i]).lexically_normal());
    if (!is_there(full[i])) missing.push_back(i);
  }
  // Of all images: those that stayed tell too which folders belong to an image's name.
  const fs::path common = common_folder(full);
  std::vector<std::size_t> found;
  fs::path best;
  const auto moved_to = [&](std::size_t image, const fs::path& folder) {
    return folder / full[image].lexically_relative(common);
  };
  for (const fs::path& folder : replacements(common, root)) {
    std::vector<std::size_t> here;
    std::ranges::copy_if(missing, std::back_inserter(here),
                         [&](std::size_t i) { return is_there(moved_to(i, folder)); });
    if (here.size() > found.size()) {
      found = here;
      best = folder;
    }
    if (found.size() == missing.size()) break;
  }
  for (const std::size_t i : found) result.files[i] = moved_to(i, best);
  result.moved = found.size();
  result.missing = missing.size() - found.size();
  return result;
}

}  // namespace protogcd
