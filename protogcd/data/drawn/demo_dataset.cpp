#include "protogcd/data/drawn/demo_dataset.h"

#include <fmt/format.h>

#include <fstream>
#include <set>
#include <span>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/random.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/scene.h"
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
  if (!file) throw FileError(fmt::format("{}: cannot write", path.string()));
}

/// A folder that holds a demo dataset and nothing else may be replaced; a user's folder never.
void check_replaceable(const fs::path& folder) {
  const std::set<std::string> ours = {"labelled", "unlabelled", "outliers", "truth.csv"};
  std::set<std::string> found;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder))
      found.insert(entry.path().filename().string());
  }
  if (found != ours) {
    throw UsageError(
        fmt::format("--out: '{}' is not a demo dataset, so it is not replaced", folder.string()),
        "choose another name");
  }
}

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
  check_output_path(options.out, options.overwrite);
  const bool replaces = fs::exists(options.out);
  if (replaces) check_replaceable(options.out);
  const auto size = static_cast<int>(options.size);
  const Plan plan = plan_dataset(static_cast<std::uint64_t>(options.per_class), context.seed);

  fs::path target = options.out.lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  // A name nobody would give a folder of their own: what an interrupted call left there is removed.
  const fs::path partial =
      target.parent_path() / fmt::format(".{}.protogcd-partial", target.filename().string());
  remove_folder(partial);
  create_folders(partial);
  std::vector<PlannedImage> images = plan.labelled;
  images.insert(images.end(), plan.unlabelled.begin(), plan.unlabelled.end());
  images.insert(images.end(), plan.outliers.begin(), plan.outliers.end());
  write_images(partial, images, size, context);
  CsvWriter truth(partial / "truth.csv", {"path", "label"});
  for (const auto* set : {&plan.unlabelled, &plan.outliers}) {
    for (const auto& image : *set)
      truth.row({image.path, std::string(demo_categories()[image.category].name)});
  }
  truth.commit();
  if (replaces) remove_folder(target);
  fs::rename(partial, target);

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
