#include "protogcd/data/drawn/demo_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <span>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/scene.h"
#include "protogcd/data/source_table.h"
#include "protogcd/image/contact_sheet.h"
#include "protogcd/image/encode.h"

namespace protogcd::drawn {
namespace {

namespace fs = std::filesystem;

struct PlannedImage {
  std::size_t category = 0;
  std::uint64_t index = 0;
  std::string path;  ///< below the dataset's folder
};

struct Plan {
  std::vector<PlannedImage> labelled, unlabelled, outliers;
};

/// Gives the images neutral names in an order that tells nothing about their category.
void name_in_random_order(std::vector<PlannedImage>& images, const char* folder,
                          RandomStream random) {
  shuffle(std::span(images), random);
  for (std::size_t i = 0; i < images.size(); ++i)
    images[i].path = fmt::format("{}/{:05}.png", folder, i + 1);
}

Plan plan_dataset(std::uint64_t per_class, std::uint64_t seed) {
  Plan plan;
  const auto categories = demo_categories();
  for (std::size_t category = 0; category < categories.size(); ++category) {
    const auto& [name, role, draw] = categories[category];
    for (std::uint64_t index = 0; index < per_class; ++index) {
      if (role == CategoryRole::kOld && index < per_class / 2) {
        plan.labelled.push_back(
            {category, index, fmt::format("labelled/{}/{:04}.png", name, index + 1)});
      } else {
        (role == CategoryRole::kOutlier ? plan.outliers : plan.unlabelled)
            .push_back({category, index, ""});
      }
    }
  }
  const RandomKey key{.seed = seed, .purpose = RandomPurpose::kShuffle};
  name_in_random_order(plan.unlabelled, "unlabelled", RandomStream(key));
  name_in_random_order(plan.outliers, "outliers", RandomStream(key));
  return plan;
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw FileError(fmt::format("{}: cannot write: {}", path.string(), std::strerror(errno)));
  }
}

/// "0017.png": the only kind of file that a demo dataset has, its table aside.
bool is_numbered_png(const fs::directory_entry& entry) {
  const std::string stem = entry.path().stem().string();
  return entry.path().extension() == ".png" && !entry.is_symlink() && entry.is_regular_file() &&
         !stem.empty() && stem.find_first_not_of("0123456789") == std::string::npos;
}

bool holds_only_numbered_pngs(const fs::path& folder) {
  const fs::directory_iterator entries(folder);
  return std::all_of(begin(entries), end(entries), is_numbered_png);
}

bool is_class_folder(const fs::directory_entry& entry) {
  const auto categories = demo_categories();
  return entry.is_directory() && !entry.is_symlink() &&
         std::ranges::any_of(
             categories, [&](const Category& c) { return c.name == entry.path().filename(); }) &&
         holds_only_numbered_pngs(entry.path());
}

/// Users arrange their own images like the demo's: names of folders alone prove nothing.
bool is_demo_dataset(const fs::path& folder) {
  const std::set<std::string> ours = {"labelled", "unlabelled", "outliers", "truth.csv"};
  std::set<std::string> found;
  if (!fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink() || entry.is_directory() == (entry.path().filename() == "truth.csv"))
      return false;
    found.insert(entry.path().filename().string());
  }
  if (found != ours) return false;
  const fs::directory_iterator classes(folder / "labelled");
  return std::all_of(begin(classes), end(classes), is_class_folder) &&
         holds_only_numbered_pngs(folder / "unlabelled") &&
         holds_only_numbered_pngs(folder / "outliers");
}

/// A folder that holds a demo dataset and nothing else may be replaced; a user's folder never.
/// Returns whether there is one to replace.
bool check_target(const fs::path& folder, bool overwrite) {
  check_output_path(folder, overwrite);
  const bool exists = fs::exists(fs::symlink_status(folder));
  if (exists && !is_demo_dataset(folder)) {
    throw UsageError(
        fmt::format("--out: '{}' is not a demo dataset, so it is not replaced", folder.string()),
        "choose another name");
  }
  return exists;
}

/// A hidden folder beside the target, which takes the target's place when all is written and goes
/// when that fails. What a killed call left there is removed: nobody gives a folder such a name.
class PartialFolder {
 public:
  explicit PartialFolder(fs::path target)
      : target_(std::move(target)), path_(beside("partial")), earlier_(beside("earlier")) {
    create_folders(target_.parent_path());
    remove_folder(path_);
    remove_folder(earlier_);
    create_folders(path_);
  }
  ~PartialFolder() {
    std::error_code ignored;
    remove_folder(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const fs::path& path() const { return path_; }

  /// `replaces`: the target was found to be ours. Otherwise nothing is moved out of the way.
  void put_in_place(bool replaces) {
    if (replaces) fs::rename(target_, earlier_);
    std::error_code error;
    fs::rename(path_, target_, error);
    if (error) {
      if (replaces) fs::rename(earlier_, target_);
      throw FileError(fmt::format("{}: cannot rename: {}", target_.string(), error.message()));
    }
    if (replaces) remove_folder(earlier_);
  }

 private:
  fs::path beside(const char* kind) const {
    return target_.parent_path() /
           fmt::format(".{}.protogcd-{}", target_.filename().string(), kind);
  }

  fs::path target_, path_, earlier_;
};

void write_images(const fs::path& folder, const std::vector<PlannedImage>& images, int size,
                  const Context& context) {
  for (const auto& image : images) create_folders((folder / image.path).parent_path());
  Progress progress("draw", images.size(), "images", context.progress());
  ThreadPool pool(context.threads);
  pool.for_each(images.size(), [&](std::size_t i) {
    const auto& [category, index, path] = images[i];
    write_bytes(folder / path, encode_png(draw_demo_image(category, index, size, context.seed)));
    progress.add();
  });
}

}  // namespace

Image draw_demo_image(std::size_t category, std::uint64_t index, int size, std::uint64_t seed) {
  RandomStream random({.seed = seed,
                       .purpose = RandomPurpose::kDraw,
                       .epoch = static_cast<std::uint32_t>(category),
                       .position = index});
  const Shape shape = demo_categories()[category].draw(random);
  return draw_scene(shape, size, random);
}

DemoSummary write_demo_dataset(const DemoOptions& options, const Context& context) {
  if (options.out.empty()) throw UsageError("--out: no folder given");
  const fs::path target = comparable_path(options.out);
  const bool replaces = check_target(target, options.overwrite);
  const Plan plan = plan_dataset(static_cast<std::uint64_t>(options.per_class), context.seed);
  PartialFolder folder(target);
  std::vector<PlannedImage> images = plan.labelled;
  images.insert(images.end(), plan.unlabelled.begin(), plan.unlabelled.end());
  images.insert(images.end(), plan.outliers.begin(), plan.outliers.end());
  write_images(folder.path(), images, static_cast<int>(options.size), context);
  CsvWriter truth(folder.path() / "truth.csv", {"path", "label"});
  for (const auto* set : {&plan.unlabelled, &plan.outliers}) {
    for (const auto& image : *set)
      truth.row({image.path, std::string(demo_categories()[image.category].name)});
  }
  truth.commit();
  folder.put_in_place(replaces);

  DemoSummary summary{.labelled = plan.labelled.size(),
                      .unlabelled = plan.unlabelled.size(),
                      .outliers = plan.outliers.size()};
  for (const auto& category : demo_categories()) {
    summary.old_classes += category.role == CategoryRole::kOld;
    summary.new_classes += category.role == CategoryRole::kNew;
    summary.outlier_classes += category.role == CategoryRole::kOutlier;
  }
  return summary;
}

Image demo_contact_sheet(int columns, int size, std::uint64_t seed) {
  std::vector<Image> images;
  for (std::size_t category = 0; category < demo_categories().size(); ++category) {
    for (int column = 0; column < columns; ++column)
      images.push_back(draw_demo_image(category, column, size, seed));
  }
  return contact_sheet(images, columns);
}

}  // namespace protogcd::drawn
