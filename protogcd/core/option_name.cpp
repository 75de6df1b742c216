#include "protogcd/core/option_name.h"

#include <algorithm>

namespace protogcd {
namespace {

// Control characters: names of files may hold them, but hardly these two around a word.
constexpr char kBegin = '\x1E', kEnd = '\x1F';

bool is_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
}

}  // namespace

std::string option_name(std::string_view key) {
  std::string name(1, kBegin);
  name += key;
  return name + kEnd;
}

std::string spelled(std::string_view text, const OptionSpelling& spelling) {
  std::string result;
  result.reserve(text.size());
  while (true) {
    const std::size_t begin = text.find(kBegin);
    const std::size_t end = begin == text.npos ? text.npos : text.find(kEnd, begin);
    if (end == text.npos) return result += text;
    result += text.substr(0, begin);
    const std::string_view key = text.substr(begin + 1, end - begin - 1);
    if (is_key(key)) {
      result += spelling ? spelling(key) : std::string(key);
      text.remove_prefix(end + 1);
    } else {
      result += kBegin;
      text.remove_prefix(begin + 1);
    }
  }
}

}  // namespace protogcd
