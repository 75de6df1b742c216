#include "protogcd/data/drawn/demo_dataset.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>

#include "protogcd/core/csv.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/random.h"
#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/drawn_folder.h"
#include "protogcd/data/drawn/scene.h"
#include "protogcd/image/contact_sheet.h"

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

bool is_category_folder(const fs::directory_entry& entry) {
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
  for (const auto& entry : folder_entries(folder)) {
    if (entry.is_symlink() || entry.is_directory() == (entry.path().filename() == "truth.csv"))
      return false;
    found.insert(entry.path().filename().string());
  }
  if (found != ours) return false;
  return std::ranges::all_of(folder_entries(folder / "labelled"), is_category_folder) &&
         holds_only_numbered_pngs(folder / "unlabelled") &&
         holds_only_numbered_pngs(folder / "outliers");
}

/// Turned further than the shapes that the built-in backbone has learned from: what it knows is
/// then not enough to tell all categories apart, as it is with photos (docs/demo.md).
constexpr double kMostTurnedObject = 40;  // degrees

}  // namespace

Image draw_demo_image(std::size_t category, std::uint64_t index, int size, std::uint64_t seed) {
  RandomStream random({.seed = seed,
                       .purpose = RandomPurpose::kDraw,
                       .epoch = static_cast<std::uint32_t>(category),
                       .position = index});
  const Shape shape = demo_categories()[category].draw(random);
  return draw_scene(shape, size, kMostTurnedObject, random);
}

DemoSummary write_demo_dataset(const DemoOptions& options, const Context& context) {
  DrawnFolder folder(options.out, options.overwrite, "demo dataset", is_demo_dataset);
  const Plan plan = plan_dataset(static_cast<std::uint64_t>(options.per_class), context.seed);
  std::vector<PlannedImage> images = plan.labelled;
  images.insert(images.end(), plan.unlabelled.begin(), plan.unlabelled.end());
  images.insert(images.end(), plan.outliers.begin(), plan.outliers.end());
  std::vector<std::string> paths;
  for (const auto& image : images) paths.push_back(image.path);
  const auto draw = [&](std::size_t i) {
    return draw_demo_image(images[i].category, images[i].index, static_cast<int>(options.size),
                           context.seed);
  };
  folder.write_images(paths, draw, context);
  CsvWriter truth(folder.path() / "truth.csv", {"path", "label"});
  for (const auto* set : {&plan.unlabelled, &plan.outliers}) {
    for (const auto& image : *set)
      truth.row({image.path, std::string(demo_categories()[image.category].name)});
  }
  truth.commit();
  folder.put_in_place();

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
