#include "protogcd/methods/teacher_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/methods/registry.h"

namespace protogcd {
namespace {

constexpr std::int64_t kReleasedGcdEpochs = 200;

void set_option(OptionTable& table, const char* key, std::int64_t value) {
  Option* option = table.find(key);
  if (option == nullptr ||
      option->assign(std::vector<std::string>{std::to_string(value)}, OptionSource::kFlag))
    throw InternalError(fmt::format("a first stage without the option {}", key));
}

}  // namespace

void TeacherTemperature::declare(OptionTable& table) {
  table.add("teacher_temperature", &last, "of the predictions that teach, after the warm-up")
      .above(0);
  table.add("warmup_teacher_temperature", &first, "of the predictions that teach, at the start")
      .above(0);
  table
      .add("warmup_teacher_temp_epochs", &epochs,
           "epochs until the teaching temperature has reached its end")
      .at_least(0);
}

double TeacherTemperature::at(std::int64_t epoch) const {
  const std::int64_t end = epochs - 1;
  if (epoch >= end && !(epoch == 0 && end == 0)) return last;
  if (end <= 0) return end < 0 ? last : first;
  return static_cast<double>(epoch) * ((last - first) / static_cast<double>(end)) + first;
}

void TaughtClassifierOptions::declare(OptionTable& table, const char* who_says) {
  table.add("sup_weight", &sup_weight, "share of the supervised terms").at_least(0).at_most(1);
  table
      .add("memax_weight", &memax_weight,
           fmt::format("weight of the mean prediction's entropy; {} (docs/methods.md)", who_says))
      .at_least(0);
  table.add("student_temperature", &student_temperature, "of predictions").above(0);
  teacher_temperature.declare(table);
}

void declare_teacher_momentum(OptionTable& table, TeacherMomentum& momentum) {
  table
      .add("teacher_momentum", &momentum.base,
           "how much of itself the teacher keeps in a step at first, along half a cosine to its "
           "last")
      .at_least(0)
      .at_most(1);
  table
      .add("last_teacher_momentum", &momentum.last,
           "how much of itself the teacher keeps in the last step")
      .at_least(0)
      .at_most(1);
}

void check_teacher_momentum(const TeacherMomentum& momentum) {
  if (momentum.base + momentum.last >= 1) return;
  throw UsageError(fmt::format("{} {} and {} {}: together they must be at least 1",
                               option_name("teacher_momentum"), momentum.base,
                               option_name("last_teacher_momentum"), momentum.last),
                   "the first step keeps their sum less 1 of the teacher");
}

void GcdStage::declare(OptionTable& table) {
  table
      .add("gcd_epochs", &epochs,
           "of the GCD training before it, where it does not go on from another run; as many as "
           "its own if not given")
      .at_least(1)
      .at_most(1'000'000);
}

std::vector<std::string> GcdStage::resolve(const MethodFacts& facts) {
  if (epochs) return {};
  epochs = std::max<std::int64_t>(facts.epochs, 1);
  return {fmt::format("gcd_epochs {}: as many as of its own training", *epochs)};
}

PublishedSetting GcdStage::published() const {
  return {"gcd_epochs", std::to_string(kReleasedGcdEpochs)};
}

void GcdStage::change_epochs(std::int64_t before, std::int64_t now) {
  if (epochs) epochs = std::max<std::int64_t>(*epochs * now / before, 1);
}

FirstStage GcdStage::stage(const HeadOptions& head) const {
  FirstStage stage{.method = find_method("gcd"), .epochs = epochs.value_or(0)};
  OptionTable table;
  stage.method->declare(table);
  if (head.hidden) set_option(table, "head_hidden", *head.hidden);
  set_option(table, "projection", head.projection);
  return stage;
}

}  // namespace protogcd
