// Public: the drawn half-labelled collection, for trying things out.
#pragma once

#include <cstdint>
#include <filesystem>

#include "protogcd/core/context.h"

namespace protogcd {

/// Draws `labelled/`, `unlabelled/`, `outliers/` and `truth.csv` below the folder: 10 old and 6 new
/// kinds of objects, `per_class` images of each. FileError where the folder is not empty.
void draw_demo(const std::filesystem::path& folder, std::int64_t per_class = 150,
               const Context& context = {});

}  // namespace protogcd
