#include "protogcd/run/probability_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "protogcd/core/csv.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {

ProbabilityColumns::ProbabilityColumns(std::string_view wanted, std::vector<std::string> classes) {
  if (wanted.empty()) return;
  classes_ = std::move(classes);
  if (wanted != "all")
    top_ = std::min<std::size_t>(parse_unsigned(wanted).value_or(1), classes_.size());
}

bool ProbabilityColumns::is_wanted(std::string_view text) {
  return text == "all" || parse_unsigned(text).value_or(0) > 0;
}

std::string ProbabilityColumns::header() const {
  std::string header;
  if (top_ == 0) {
    for (const std::string& name : classes_) header += "," + csv_field("p_" + name);
  }
  for (std::size_t i = 1; i <= top_; ++i) header += fmt::format(",class_{},p_{}", i, i);
  return header;
}

std::vector<std::size_t> ProbabilityColumns::likeliest(std::span<const float> probabilities) const {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  order.resize(top_);
  return order;
}

std::string ProbabilityColumns::fields(std::span<const float> probabilities) const {
  std::string fields;
  if (classes_.empty()) return fields;
  if (top_ == 0) {
    for (const float probability : probabilities) fields += fmt::format(",{:.6f}", probability);
    return fields;
  }
  for (const std::size_t number : likeliest(probabilities))
    fields += fmt::format(",{},{:.6f}", csv_field(classes_[number]), probabilities[number]);
  return fields;
}

void ProbabilityColumns::add_to(nlohmann::ordered_json& object,
                                std::span<const float> probabilities) const {
  if (classes_.empty()) return;
  if (top_ == 0) {
    for (std::size_t i = 0; i < classes_.size(); ++i) object["p_" + classes_[i]] = probabilities[i];
    return;
  }
  std::size_t place = 0;
  for (const std::size_t number : likeliest(probabilities)) {
    ++place;
    object[fmt::format("class_{}", place)] = classes_[number];
    object[fmt::format("p_{}", place)] = probabilities[number];
  }
}

}  // namespace protogcd
