// What methods that learn from a teacher can be told: how sharp its predictions are, how fast it
// follows, and the training before theirs.
#pragma once

#include <cstdint>
#include <optional>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/method_options.h"

namespace protogcd {

/// Of the predictions that teach: falls over the first epochs, as in SimGCD's release.
struct TeacherTemperature {
  double first = 0.07, last = 0.04;
  std::int64_t epochs = 30;  ///< until it has reached its end

  void declare(OptionTable& table);
  /// numpy's linspace over these epochs, then constant; the last value is exactly the end's.
  double at(std::int64_t epoch) const;
};

/// Of a classifier that is taught by predictions, SimGCD's: what its terms are worth and how sharp
/// both sides are.
struct TaughtClassifierOptions {
  double sup_weight = 0.35;  ///< share of the supervised terms
  double memax_weight = 2;   ///< of the mean prediction's entropy
  double student_temperature = 0.1;
  TeacherTemperature teacher_temperature;

  /// `who_says`: where the entropy's weight comes from, for its help.
  void declare(OptionTable& table, const char* who_says);
};

void declare_teacher_momentum(OptionTable& table, TeacherMomentum& momentum);
/// UsageError where the teacher would keep less than nothing of itself at first.
void check_teacher_momentum(const TeacherMomentum& momentum);

/// The features that a method begins with are those of a GCD training.
struct GcdStage {
  std::optional<std::int64_t> epochs = {};  ///< nothing: as many as the method's own

  void declare(OptionTable& table);
  std::vector<std::string> resolve(const MethodFacts& facts);
  PublishedSetting published() const;
  /// As much of the whole as it was.
  void change_epochs(std::int64_t before, std::int64_t now);
  /// `head`: of its projection.
  FirstStage stage(const HeadOptions& head) const;
};

}  // namespace protogcd
