#include "protogcd/cli/corruption_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd::cli {
namespace {

template <class T>
void add_once(std::vector<T>& items, const T& item) {
  if (std::ranges::find(items, item) == items.end()) items.push_back(item);
}

}  // namespace

std::vector<const Corruption*> parse_corruptions(const std::string& text) {
  std::vector<const Corruption*> chosen;
  for (const auto& name : text == "all" ? corruption_names() : split(text, ',')) {
    try {
      add_once(chosen, &find_corruption(trim(name)));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--corruptions: {}", error.marked()));
    }
  }
  return chosen;
}

std::vector<int> parse_severities(const std::string& text) {
  std::vector<int> chosen;
  for (const auto& part : split(text, ',')) {
    const auto severity = parse_integer(trim(part));
    if (!severity || *severity < 1 || *severity > kCorruptionSeverities) {
      throw UsageError(fmt::format("--severities: '{}', expected numbers of 1 to {} (as 1,3,5)",
                                   part, kCorruptionSeverities));
    }
    add_once(chosen, static_cast<int>(*severity));
  }
  std::ranges::sort(chosen);
  return chosen;
}

}  // namespace protogcd::cli
