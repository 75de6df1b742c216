// Image files to RGB, as Pillow's `Image.open(f).convert("RGB")` gives it.
#pragma once

#include <string>
#include <vector>

namespace protogcd {

/// "jpeg", "png" and, where the build has it, "webp".
std::vector<std::string> supported_image_formats();

}  // namespace protogcd
