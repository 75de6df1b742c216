// Numbers for names, in the order they come.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace protogcd {

class ClassNumbers {
 public:
  std::int32_t operator()(const std::string& name) {
    const auto [found, is_new] =
        numbers_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace protogcd
