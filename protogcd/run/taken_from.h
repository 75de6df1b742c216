// Public. What a run took from an earlier one that it goes on from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace protogcd {

struct TakenFrom {
  std::filesystem::path run;     ///< its folder
  bool is_first_stage = false;   ///< it was trained by this run, for this run
  std::string method = {};       ///< that trained it
  std::string sha256 = {};       ///< of its model.safetensors
  std::int64_t first_block = 0;  ///< the trained blocks: from this one on
  /// The classes that begin at its prototypes, or whose clusters are numbered as it did.
  std::vector<std::string> classes = {};
  std::int64_t old_classes = 0;           ///< of them
  std::vector<std::string> tensors = {};  ///< of its head, beside the prototypes

  nlohmann::json to_json() const;
  /// nlohmann's exceptions where it is something else.
  static TakenFrom from_json(const nlohmann::json& json);
  /// For people.
  std::string in_words() const;
};

}  // namespace protogcd
