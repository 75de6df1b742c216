#include "protogcd/report/sorted_folders.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/progress.h"
#include "protogcd/core/text.h"
#include "protogcd/data/drawn/drawn_folder.h"
#include "protogcd/data/skipped.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/image/encode.h"
#include "protogcd/report/sprites.h"
#include "protogcd/run/label_history.h"
#include "protogcd/run/moved_images.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSheets = "contact-sheets";
constexpr const char* kSortedTable = "sorted.csv";
constexpr std::size_t kMostOnASheet = 100;
constexpr int kSheetTile = 128;

struct ImageToSort {
  fs::path file;
  std::string class_name;
  double typicality = 1;  ///< labelled images come first on a sheet
};

/// Any text as the name of one folder.
std::string folder_name(std::string_view part) {
  constexpr std::size_t kLongest = 200;  // bytes; file systems take 255
  std::string name;
  for (const char letter : part) {
    const auto code = static_cast<unsigned char>(letter);
    name += code < 0x20 || code == 0x7F ? '_' : letter;
  }
  if (name.size() > kLongest) name.resize(kLongest);
  if (name.empty() || name == "." || name == "..") return "_" + name + "_";
  // Hidden folders would look like lost images.
  return name.front() == '.' ? "_" + name : name;
}

/// A class's folder below the target, no other class's.
class ClassFolders {
 public:
  const fs::path& operator()(const std::string& class_name) {
    const auto known = folders_.find(class_name);
    if (known != folders_.end()) return known->second;
    fs::path folder;
    for (const std::string& part : split(class_name, '/')) folder /= folder_name(part);
    const fs::path plain = folder;
    for (int number = 2; !taken_.insert(folder).second; ++number)
      folder = plain.string() + fmt::format("-{}", number);
    return folders_.emplace(class_name, folder).first->second;
  }
  std::size_t size() const { return folders_.size(); }

 private:
  std::map<std::string, fs::path> folders_;
  std::set<fs::path> taken_ = {kSheets, kSortedTable, kSkippedFile};
};

/// "7.jpg", or "7-2.jpg" where that is taken. Of a record, "data_batch_1.bin-17.png".
class FileNames {
 public:
  fs::path operator()(const fs::path& folder, const fs::path& image, bool is_record) {
    std::string stem = image.stem().string(), ending = image.extension().string();
    if (is_record) {
      stem = image.filename().string();
      std::ranges::replace(stem, '#', '-');
      ending = ".png";
    }
    fs::path name = folder / (stem + ending);
    for (int number = 2; !taken_.insert(name).second; ++number)
      name = folder / fmt::format("{}-{}{}", stem, number, ending);
    return name;
  }

 private:
  std::set<fs::path> taken_;
};

std::vector<ImageToSort> images_of(const SortOptions& options) {
  const bool is_run = fs::is_directory(options.from);
  const fs::path table_file = is_run ? options.from / run_files::kPredictions : options.from;
  if (is_run && !fs::exists(table_file))
    throw UsageError(
        fmt::format("{}: there is no {} in it", options.from.string(), run_files::kPredictions));
  std::vector<ImageToSort> images;
  const PredictionsTable table = PredictionsTable::read(table_file);
  for (std::size_t i = 0; i < table.size(); ++i) {
    images.push_back({.file = table_file.parent_path() / table.path(i),
                      .class_name = table.class_name(i),
                      .typicality = table.has_typicality() ? table.typicality(i) : 0});
  }
  if (!options.with_labelled) return images;
  if (!is_run) {
    throw UsageError(fmt::format("{}: {} is a table, not a run", option_name("with_labelled"),
                                 options.from.string()));
  }
  for (const GivenLabel& label : read_labels(options.from))
    images.push_back({.file = label.path, .class_name = label.class_name});
  return images;
}

bool is_sorted_folder(const fs::path& folder) {
  return fs::is_regular_file(folder / kSortedTable);
}

void copy_or_link(const fs::path& from, const fs::path& to, bool link) {
  std::error_code error;
  if (link) {
    fs::create_symlink(fs::absolute(from).lexically_normal(), to, error);
  } else {
    fs::copy_file(from, to, error);
  }
  if (error) {
    throw FileError(fmt::format("{}: cannot be {}: {}", from.string(), link ? "linked" : "copied",
                                error.message()));
  }
}

class Sorter {
 public:
  Sorter(const SortOptions& options, const Context& context)
      : options_(options), context_(context) {}

  SortSummary run() {
    std::vector<ImageToSort> images = images_of(options_);
    std::vector<fs::path> files;
    for (const ImageToSort& image : images) files.push_back(image.file);
    const LocatedImages located = locate_images(files, options_.images_root);
    for (std::size_t i = 0; i < images.size(); ++i) images[i].file = located.files[i];
    drawn::DrawnFolder folder(options_.out, options_.overwrite, "folder of sorted images",
                              is_sorted_folder);
    CsvWriter table(folder.path() / kSortedTable, {"path", "class", "sorted"});
    Progress progress("sort", images.size(), "images", context_.progress());
    for (const ImageToSort& image : images) {
      if (context_.interrupted()) {
        throw InterruptedError("stopped while sorting images",
                               "nothing was written; repeat the command to start again");
      }
      sort_one(image, folder.path(), table);
      progress.add();
    }
    progress.finish();
    if (summary_.images == 0) {
      throw DataError(fmt::format("none of the {} images is there, as {}", images.size(),
                                  images.empty() ? "" : images.front().file.string()),
                      fmt::format("if they were moved, say where they are now: {} DIR",
                                  option_name("images_root")));
    }
    table.commit();
    write_skipped(folder.path());
    write_sheets(folder.path());
    summary_.classes = folders_.size();
    folder.put_in_place();
    return summary_;
  }

 private:
  void sort_one(const ImageToSort& image, const fs::path& target, CsvWriter& table) {
    const bool is_file = fs::is_regular_file(image.file);
    std::optional<Image> record;
    if (!is_file) {
      ImageOrBad read = stored_.read(image.file, {});
      if (auto* pixels = std::get_if<Image>(&read)) {
        record = std::move(*pixels);
      } else {
        skipped_.emplace_back(image.file.string(), std::get<BadImage>(read).reason);
        ++summary_.missing;
        return;
      }
    }
    const fs::path& folder = folders_(image.class_name);
    create_folders(target / folder);
    const fs::path name = names_(folder, image.file, record.has_value());
    if (record) {
      write_png(target / name, *record);
    } else {
      copy_or_link(image.file, target / name, options_.link);
    }
    table.row({comparable_path(image.file), image.class_name, name.generic_string()});
    by_class_[image.class_name].push_back({image.typicality, image.file});
    ++summary_.images;
  }

  void write_skipped(const fs::path& target) const {
    if (skipped_.empty()) return;
    CsvWriter writer(target / kSkippedFile, {"path", "reason"});
    for (const auto& [path, reason] : skipped_) writer.row({path, reason});
    writer.commit();
  }

  /// The most typical images of every class.
  void write_sheets(const fs::path& target) {
    for (auto& [name, images] : by_class_) {
      std::ranges::stable_sort(images, std::ranges::greater{}, &RankedFile::typicality);
      std::vector<fs::path> shown;
      for (std::size_t i = 0; i < std::min(images.size(), kMostOnASheet); ++i)
        shown.push_back(images[i].file);
      const fs::path sheet = target / kSheets / (folders_(name).string() + ".jpg");
      create_folders(sheet.parent_path());
      write_file_atomically(sheet, square_sheet(shown, kSheetTile, context_));
    }
  }

  struct RankedFile {
    double typicality;
    fs::path file;
  };

  const SortOptions& options_;
  const Context& context_;
  ClassFolders folders_;
  FileNames names_;
  StoredImages stored_;
  std::map<std::string, std::vector<RankedFile>> by_class_;
  std::vector<std::pair<std::string, std::string>> skipped_;  ///< path and reason
  SortSummary summary_;
};

}  // namespace

SortSummary sort_into_folders(const SortOptions& options, const Context& context) {
  return Sorter(options, context).run();
}

}  // namespace protogcd
