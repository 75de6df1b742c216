#include "protogcd/run/taken_from.h"

#include <fmt/core.h>

#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd {

nlohmann::json TakenFrom::to_json() const {
  return {{"run", run.string()},    {"is_first_stage", is_first_stage}, {"method", method},
          {"model_sha256", sha256}, {"first_block", first_block},       {"classes", classes},
          {"k_old", old_classes},   {"head_tensors", tensors}};
}

TakenFrom TakenFrom::from_json(const nlohmann::json& json) {
  return {.run = json.at("run").get<std::string>(),
          .is_first_stage = json.at("is_first_stage"),
          .method = json.at("method"),
          .sha256 = json.at("model_sha256"),
          .first_block = count_at(json, "first_block"),
          .classes = json.at("classes").get<std::vector<std::string>>(),
          .old_classes = count_at(json, "k_old"),
          .tensors = json.at("head_tensors").get<std::vector<std::string>>()};
}

std::string TakenFrom::in_words() const {
  std::string words = fmt::format("begins with {}{}: blocks from {} on", run.string(),
                                  method.empty() ? "" : fmt::format(" ({})", method), first_block);
  const auto new_classes = std::ssize(classes) - old_classes;
  if (!classes.empty()) {
    words += fmt::format(", {} old and {} new classes where they were", old_classes, new_classes);
  }
  if (!tensors.empty()) words += fmt::format(", of its head {}", join(tensors, ", "));
  return words;
}

}  // namespace protogcd
