#include "protogcd/api/demo.h"

#include "protogcd/data/drawn/demo_dataset.h"

namespace protogcd {

void draw_demo(const std::filesystem::path& folder, std::int64_t per_class,
               const Context& context) {
  drawn::write_demo_dataset({.out = folder, .per_class = per_class}, context);
}

}  // namespace protogcd
