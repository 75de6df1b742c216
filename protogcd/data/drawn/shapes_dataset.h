// A labelled dataset of random shapes to pre-train on: a class is one shape in many colours,
// textures, poses and backgrounds. No shape is one of the built-in dataset's objects, so that those
// stay new to a network that has learned from shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/data/drawn/shape.h"
#include "protogcd/image/image.h"

namespace protogcd::drawn {

/// No shape's silhouette overlaps that of a demo category by more, at the best rotation and size.
constexpr double kMostLikeDemo = 0.8;

struct ShapesOptions {
  std::filesystem::path out;
  std::int64_t classes = 200;
  std::int64_t per_class = 300;  ///< images of each class
  std::int64_t size = 64;        ///< pixels along each side
  bool overwrite = false;  ///< replace an earlier shapes dataset; anything else is never replaced
};

/// The shapes of the classes, the first ones whatever the number: drawn at random, less those that
/// are too like a demo category or an earlier class. UsageError where so many different ones are
/// not found.
std::vector<Shape> shape_classes(std::size_t count, const Context& context);

/// Image number `index` of class number `number`, as the dataset with this seed holds it.
Image draw_shape_image(const Shape& shape, std::size_t number, std::uint64_t index, int size,
                       std::uint64_t seed);

/// Writes shape-NNN/NNNN.png and returns the classes' shapes. The folder appears under its name
/// only when complete.
std::vector<Shape> write_shapes_dataset(const ShapesOptions& options, const Context& context);

/// A sheet to look at: one class a row, the first ones.
Image shapes_contact_sheet(const std::vector<Shape>& classes, int rows, int columns, int size,
                           std::uint64_t seed);

}  // namespace protogcd::drawn
