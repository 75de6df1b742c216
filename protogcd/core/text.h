// Small text helpers: strict number parsing, nearest names for error messages, sizes and durations
// for people.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace protogcd {

/// The whole text as a number, or nothing: no leading blanks, no trailing characters, no overflow,
/// no NaN or infinity.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<double> parse_real(std::string_view text);

/// Number of single-character edits between two texts (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, or nothing if none is near enough to be what was meant.
std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates);

/// "; did you mean 'x'?" or nothing, ready to be appended to a message.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// As it stands in messages and files: the shortest text that reads back as the same number.
std::string text_of(std::int64_t value);
std::string text_of(float value);
std::string text_of(double value);
inline std::string text_of(std::string_view value) {
  return std::string(value);
}

/// The parts with the separator between them.
template <class Range>
std::string join(const Range& parts, std::string_view separator) {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    first = false;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      text += text_of(static_cast<std::int64_t>(part));
    } else {
      text += text_of(part);
    }
  }
  return text;
}

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// Names of files and classes come from strangers. Control characters (C0, C1, those that end a
/// line or turn the direction of writing) are written as \x0A or \u202E, and bytes that are no
/// UTF-8 as \xFF: what is printed stays one line, reads as it is and cannot steer a terminal.
std::string one_line(std::string_view text);

/// `bank_views` -> `bank-views`: the flag of a configuration key.
std::string kebab_case(std::string_view key);

/// 1536 -> "1.5 KiB"; 75.2 -> "1 min 15 s".
std::string human_bytes(std::uint64_t bytes);
std::string human_seconds(double seconds);

/// As a shell takes it for one word: quoted where it must be.
std::string shell_word(std::string_view text);

/// The first few, and how many more there are: "a, b, c and 12 more".
std::string few_of(const std::vector<std::string>& items);

}  // namespace protogcd
