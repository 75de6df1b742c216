// Lines, tables, JSON and files of several.
#include <algorithm>
#include <limits>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace protogcd::fuzz {
namespace {

constexpr std::string_view kTexts[] = {
    "",      "0",    "1",     "-1",         "0.5",   "1e308", "nan",   "18446744073709551615",
    "test",  "dark", "\"a\"", "'=1",        "../x",  "new-1", "train", "-9223372036854775808",
    "merge", "move", "a\xff", "correction", "wrong", "1e-9",  "accept"};

std::string text_like_others(Random& random) {
  return std::string(one_of(kTexts, random));
}

/// Takes one away, puts one there twice, or gives one the place of another.
template <class Item>
void rearrange(std::vector<Item>& items, Random& random) {
  if (items.empty()) return;
  const std::size_t at = draw(random, items.size()), other = draw(random, items.size());
  const auto place = items.begin() + static_cast<std::ptrdiff_t>(at);
  switch (draw(random, 3)) {
    case 0:
      items.erase(place);
      break;
    case 1:
      items.insert(place, Item(items[other]));
      break;
    default:
      std::swap(items[at], items[other]);
  }
}

void rearrange_columns(std::vector<std::vector<std::string>>& rows, Random& random) {
  const std::size_t at = draw(random, rows.front().size());
  const std::size_t other = draw(random, rows.front().size());
  const bool is_erased = draw(random, 2) == 0;
  for (auto& row : rows) {
    if (at >= row.size() || other >= row.size()) continue;
    if (is_erased) {
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      std::swap(row[at], row[other]);
    }
  }
}

using Json = nlohmann::ordered_json;

void collect(Json& json, std::vector<Json*>& values) {
  values.push_back(&json);
  if (!json.is_structured()) return;
  for (Json& value : json) collect(value, values);
}

Json another_value(Random& random) {
  static const Json kValues[] = {nullptr,
                                 true,
                                 false,
                                 0,
                                 1,
                                 -1,
                                 3,
                                 0.5,
                                 -1e308,
                                 1e300,
                                 "",
                                 "none",
                                 "x",
                                 "\x1b[31m\"<&",
                                 Json::array(),
                                 Json::object(),
                                 Json::array({1, 2}),
                                 Json::array({nullptr}),
                                 std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::uint64_t>::max(),
                                 Json::array({Json::array({Json::array({Json::object()})})}),
                                 {{"name", 1}}};
  if (draw(random, 50) == 0) return Json::parse(std::string(150, '[') + std::string(150, ']'));
  return one_of(kValues, random);
}

void change(Json& json, const Json& other, Random& random) {
  const std::size_t items = json.is_structured() ? json.size() : 0;
  switch (draw(random, items > 0 ? 5 : 3)) {
    case 0:
      json = another_value(random);
      break;
    case 1:
      json = Json(other);
      break;
    case 2:
      if (json.is_string()) {
        json = mutate_bytes(json.get<std::string>(), random);
      } else if (json.is_number()) {
        json = std::int64_t(draw(random, 20)) - 5;
      } else if (json.is_object()) {
        json[text_like_others(random)] = other;
      } else if (json.is_array()) {
        json.push_back(other);
      }
      break;
    case 3:
      json.erase(std::next(json.begin(), static_cast<std::ptrdiff_t>(draw(random, items))));
      break;
    default:
      if (json.is_array()) json.push_back(Json(one_of(json, random)));
  }
}

}  // namespace

std::string mutate_bytes(std::string_view input, Random&) {
  constexpr std::size_t kMore = 64;
  std::string bytes(input);
  bytes.resize(input.size() + kMore);
  bytes.resize(
      LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), input.size(), bytes.size()));
  return bytes;
}

std::string mutate_lines(std::string_view input, Random& random) {
  std::vector<std::string> lines = split(input, '\n');
  std::string& line = one_of(lines, random);
  if (draw(random, 2) == 0) {
    line = mutate_bytes(line, random);
  } else {
    rearrange(lines, random);
  }
  return join(lines, "\n");
}

std::string mutate_csv(std::string_view input, Random& random) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(input, '\n')) rows.push_back(split(line, ','));
  std::string& field = one_of(one_of(rows, random), random);
  switch (draw(random, 6)) {
    case 0:
      field = text_like_others(random);
      break;
    case 1:
      field = std::string(one_of(one_of(rows, random), random));
      break;
    case 2:
      field = mutate_bytes(field, random);
      break;
    case 3:
      rearrange(rows, random);
      break;
    case 4:
      rearrange_columns(rows, random);
      break;
    default:  // a field of the same column, so that rows refer to each other
      for (std::size_t column = draw(random, rows.front().size()); auto& row : rows) {
        if (column >= row.size() || draw(random, 3) > 0) continue;
        const auto& other = one_of(rows, random);
        if (column < other.size()) row[column] = std::string(other[column]);
      }
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) lines.push_back(join(row, ","));
  return join(lines, "\n");
}

std::string mutate_json(std::string_view input, Random& random) {
  Json json = Json::parse(input, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return mutate_bytes(input, random);
  std::vector<Json*> values;
  collect(json, values);
  const Json other = *one_of(values, random);
  change(*one_of(values, random), other, random);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string mutate_sections(std::string_view input, Random& random) {
  std::vector<Section> sections = split_sections(input);
  if (sections.empty()) return mutate_bytes(input, random);
  if (draw(random, 20) == 0) {
    rearrange(sections, random);
    return join_sections(sections);
  }
  auto& [name, content] = one_of(sections, random);
  if (name.ends_with(".csv")) {
    content = mutate_csv(content, random);
  } else if (name.ends_with(".json")) {
    content = mutate_json(content, random);
  } else if (name.ends_with(".safetensors")) {
    content = mutate_safetensors(content, random);
  } else if (name.ends_with(".jsonl")) {
    std::vector<std::string> lines = split(content, '\n');
    std::string& line = one_of(lines, random);
    line = mutate_json(line, random);
    content = join(lines, "\n");
  } else {
    content = mutate_lines(content, random);
  }
  return join_sections(sections);
}

std::size_t mutate_in_place(Mutation mutation, std::uint8_t* data, std::size_t size,
                            std::size_t most, unsigned seed) {
  Random random(seed);
  if (draw(random, 5) == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string result = mutation({reinterpret_cast<const char*>(data), size}, random);
  if (result.empty() || result.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::ranges::copy(result, data);
  return result.size();
}

}  // namespace protogcd::fuzz
