// Public. What `predict --probabilities` adds to a row: the probability of every class (p_owl,
// ...), or the classes that are likeliest (class_1,p_1,class_2,p_2, ...).
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace protogcd {

class ProbabilityColumns {
 public:
  /// No columns.
  ProbabilityColumns() = default;
  /// `wanted` is "all", or the number of the likeliest classes to show; empty for no columns.
  ProbabilityColumns(std::string_view wanted, std::vector<std::string> classes);
  /// Whether the text is "all" or a positive number.
  static bool is_wanted(std::string_view text);

  /// ",p_owl,p_heron": what follows the other columns of a CSV's header.
  std::string header() const;
  /// ",0.750000,0.250000": what follows the other fields. `probabilities` are those of all classes.
  std::string fields(std::span<const float> probabilities) const;
  /// The same as keys and values of a JSON object.
  void add_to(nlohmann::ordered_json& object, std::span<const float> probabilities) const;

 private:
  std::vector<std::size_t> likeliest(std::span<const float> probabilities) const;

  std::vector<std::string> classes_;  ///< empty: no columns
  std::size_t top_ = 0;               ///< 0: all
};

}  // namespace protogcd
