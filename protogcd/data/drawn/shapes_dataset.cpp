#include "protogcd/data/drawn/shapes_dataset.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/folder_entries.h"
#include "protogcd/core/random.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/drawn/categories.h"
#include "protogcd/data/drawn/drawn_folder.h"
#include "protogcd/data/drawn/random_shape.h"
#include "protogcd/data/drawn/scene.h"
#include "protogcd/data/drawn/silhouette.h"
#include "protogcd/image/contact_sheet.h"

namespace protogcd::drawn {
namespace {

namespace fs = std::filesystem;

/// Views of RandomPurpose::kDraw: the demo's images have 0.
constexpr std::uint8_t kSceneView = 1, kShapeView = 2, kExampleView = 3;

/// Below kMostLikeDemo, as between the rotations and sizes looked at the overlap may be higher.
constexpr double kMostAlike = 0.75;
constexpr double kMostTurnedShape = 25;  // degrees

/// Some objects of every demo category, as their proportions vary.
std::vector<Silhouette> demo_silhouettes(const OverlapSearch& search) {
  constexpr std::uint64_t kExamples = 6;
  std::vector<Silhouette> silhouettes;
  for (std::size_t category = 0; category < demo_categories().size(); ++category) {
    for (std::uint64_t example = 0; example < kExamples; ++example) {
      RandomStream random({.purpose = RandomPurpose::kDraw,
                           .epoch = static_cast<std::uint32_t>(category),
                           .position = example,
                           .view = kExampleView});
      const auto of_one = scaled_silhouettes(demo_categories()[category].draw(random), search);
      silhouettes.insert(silhouettes.end(), of_one.begin(), of_one.end());
    }
  }
  return silhouettes;
}

struct Candidate {
  Shape shape;
  bool fits = false;
  std::vector<Silhouette> rotated;
};

/// Neither a sliver nor a full square.
bool has_good_area(const Shape& shape) {
  const double share =
      rasterise(shape.transformed({.scale = 16, .shift = {16, 16}}), 32).area_share();
  return share > 0.12 && share < 0.62;
}

Candidate draw_candidate(std::uint64_t number, std::uint64_t seed, const OverlapSearch& search,
                         std::span<const Silhouette> demo) {
  RandomStream random(
      {.seed = seed, .purpose = RandomPurpose::kDraw, .position = number, .view = kShapeView});
  Candidate candidate;
  candidate.shape = draw_random_shape(random);
  if (!has_good_area(candidate.shape)) return candidate;
  candidate.rotated = rotated_silhouettes(candidate.shape, search);
  candidate.fits = best_overlap(candidate.rotated, demo) <= kMostAlike;
  return candidate;
}

/// "shape-017"
bool is_shape_folder(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string(), prefix = "shape-";
  return entry.is_directory() && !entry.is_symlink() && name.starts_with(prefix) &&
         name.size() > prefix.size() &&
         name.find_first_not_of("0123456789", prefix.size()) == std::string::npos &&
         holds_only_numbered_pngs(entry.path());
}

bool is_shapes_dataset(const fs::path& folder) {
  if (fs::is_symlink(folder) || !fs::is_directory(folder) || fs::is_empty(folder)) return false;
  return std::ranges::all_of(folder_entries(folder), is_shape_folder);
}

}  // namespace

std::vector<Shape> shape_classes(std::size_t count, const Context& context) {
  const OverlapSearch search;
  const OverlapSearch same_size{.scales = {1}};  // among the classes a cheaper look is enough
  const auto demo = demo_silhouettes(search);
  ThreadPool pool(context.threads);
  Progress progress("find shapes", count, "classes", context.progress());
  std::vector<Shape> classes;
  std::vector<Silhouette> taken;
  for (std::uint64_t first = 0; classes.size() < count;) {
    if (first > 100 * count + 1000) {
      throw UsageError(fmt::format("{}: only {} shapes that differ enough were found",
                                   option_name("classes"), classes.size()),
                       "ask for fewer");
    }
    // Tried side by side, taken in order: how many at a time changes nothing.
    std::vector<Candidate> candidates(std::clamp<std::size_t>(count - classes.size(), 4, 64));
    pool.for_each(candidates.size(), [&](std::size_t i) {
      candidates[i] = draw_candidate(first + i, context.seed, search, demo);
    });
    first += candidates.size();
    for (Candidate& candidate : candidates) {
      if (classes.size() == count) break;
      if (!candidate.fits || best_overlap(candidate.rotated, taken) > kMostAlike) continue;
      const auto upright = scaled_silhouettes(candidate.shape, same_size);
      taken.insert(taken.end(), upright.begin(), upright.end());
      classes.push_back(std::move(candidate.shape));
      progress.add();
    }
  }
  return classes;
}

Image draw_shape_image(const Shape& shape, std::size_t number, std::uint64_t index, int size,
                       std::uint64_t seed) {
  RandomStream random({.seed = seed,
                       .purpose = RandomPurpose::kDraw,
                       .epoch = static_cast<std::uint32_t>(number),
                       .position = index,
                       .view = kSceneView});
  return draw_scene(shape, size, kMostTurnedShape, random);
}

std::vector<Shape> write_shapes_dataset(const ShapesOptions& options, const Context& context) {
  DrawnFolder folder(options.out, options.overwrite, "shapes dataset", is_shapes_dataset);
  auto classes = shape_classes(static_cast<std::size_t>(options.classes), context);
  const auto per_class = static_cast<std::size_t>(options.per_class);
  std::vector<std::string> paths;
  for (std::size_t number = 0; number < classes.size(); ++number) {
    for (std::size_t index = 0; index < per_class; ++index)
      paths.push_back(fmt::format("shape-{:03}/{:04}.png", number, index));
  }
  const auto draw = [&](std::size_t i) {
    return draw_shape_image(classes[i / per_class], i / per_class, i % per_class,
                            static_cast<int>(options.size), context.seed);
  };
  folder.write_images(paths, draw, context);
  folder.put_in_place();
  return classes;
}

Image shapes_contact_sheet(const std::vector<Shape>& classes, int rows, int columns, int size,
                           std::uint64_t seed) {
  std::vector<Image> images;
  for (std::size_t row = 0; row < std::min<std::size_t>(rows, classes.size()); ++row) {
    for (int column = 0; column < columns; ++column)
      images.push_back(draw_shape_image(classes[row], row, column, size, seed));
  }
  return contact_sheet(images, columns);
}

}  // namespace protogcd::drawn
