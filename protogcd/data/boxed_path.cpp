#include "protogcd/data/boxed_path.h"

#include <fmt/core.h>

#include <array>
#include <limits>

#include "protogcd/core/text.h"

namespace protogcd {

std::string boxed_path(std::string_view file, const ImageBox& box) {
  return fmt::format("{}#{},{},{},{}", file, box.left, box.top, box.width, box.height);
}

std::optional<BoxedPath> split_boxed_path(std::string_view text) {
  const std::size_t mark = text.rfind('#');
  if (mark == std::string_view::npos) return std::nullopt;
  std::array<std::string_view, 4> numbers;
  std::string_view rest = text.substr(mark + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (i == 3)) return std::nullopt;
    numbers[i] = rest.substr(0, comma);
    if (i < 3) rest.remove_prefix(comma + 1);
  }
  const auto box = parse_box(numbers[0], numbers[1], numbers[2], numbers[3]);
  if (!box) return std::nullopt;
  return BoxedPath{std::string(text.substr(0, mark)), *box};
}

std::optional<ImageBox> parse_box(std::string_view x, std::string_view y, std::string_view width,
                                  std::string_view height) {
  const auto left = parse_integer(x), top = parse_integer(y), columns = parse_integer(width),
             rows = parse_integer(height);
  // Half of an int's range, so that sums fit.
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  for (const auto& number : {left, top, columns, rows}) {
    if (!number || *number < -kMost || *number > kMost) return std::nullopt;
  }
  if (*columns < 1 || *rows < 1) return std::nullopt;
  return ImageBox{static_cast<int>(*left), static_cast<int>(*top), static_cast<int>(*columns),
                  static_cast<int>(*rows)};
}

}  // namespace protogcd
