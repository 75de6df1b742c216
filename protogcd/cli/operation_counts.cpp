#include "protogcd/cli/operation_counts.h"

namespace protogcd::cli {

double trunk_operations(const VitConfig& config, std::int64_t image_size) {
  const auto tokens = static_cast<double>(config.token_count(image_size)),
             width = static_cast<double>(config.width);
  const double mlp = static_cast<double>(config.hidden) * (config.gated_mlp ? 3 : 2);
  const double block = 2 * tokens * (4 * width * width + width * mlp) + 4 * tokens * tokens * width;
  const double patches = 2 * tokens * width * 3 * static_cast<double>(config.patch * config.patch);
  return patches + static_cast<double>(config.depth - 1) * block;
}

double step_operations(const VitConfig& config, std::int64_t head, std::int64_t rows,
                       std::int64_t tokens) {
  const auto number = [](std::int64_t x) { return static_cast<double>(x); };
  const double width = number(config.width);
  const double mlp = number(config.hidden) * (config.gated_mlp ? 3 : 2);
  const double block = 4 * width * width + width * mlp;
  const double attention = 4 * number(config.heads * tokens) * width;
  return 2 * number(rows) * (3 * (block + number(head)) + attention);
}

}  // namespace protogcd::cli
