// How tables name a box of an image file: "photo.jpg#x,y,width,height".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "protogcd/image/image.h"

namespace protogcd {

struct BoxedPath {
  std::string file;
  ImageBox box;
};

std::string boxed_path(std::string_view file, const ImageBox& box);
/// Nothing where the text does not end in a box.
std::optional<BoxedPath> split_boxed_path(std::string_view text);

/// The box of these four texts: whole numbers, of which the last two are positive. Nothing
/// otherwise, or where they are larger than any image.
std::optional<ImageBox> parse_box(std::string_view x, std::string_view y, std::string_view width,
                                  std::string_view height);

}  // namespace protogcd
