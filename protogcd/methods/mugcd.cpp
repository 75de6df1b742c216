// muGCD (Vaze et al., NeurIPS 2023): a classifier on features of a GCD training, taught on a strong
// view of each image by an average of itself that sees a weak one. No code of it is published; what
// the paper leaves open is listed in docs/methods.md.
#include <ATen/ATen.h>

#include "protogcd/methods/losses.h"
#include "protogcd/methods/teacher_options.h"

namespace protogcd {
namespace {

struct MuGcdOptions : MethodOptions {
  TaughtClassifierOptions classifier;
  TeacherMomentum momentum;
  GcdStage gcd;
  HeadOptions head;  ///< of the GCD training's projection

  std::string name() const override { return "mugcd"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<MuGcdOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<std::string> resolve(const MethodFacts& facts) override;
  std::vector<PublishedSetting> published(const std::string&) const override {
    return {gcd.published(), head.published()};
  }
  void change_epochs(std::int64_t before, std::int64_t now) override {
    gcd.change_epochs(before, now);
  }
  std::string tuned_option() const override { return "memax_weight"; }
  bool sees_strong() const override { return true; }
  std::optional<FirstStage> first_stage() const override { return gcd.stage(head); }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class MuGcd : public Method {
 public:
  MuGcd(const MuGcdOptions& options, const MethodInput& input)
      : options_(options),
        old_classes_(input.old_classes),
        classifier_(HeadOptions::make_classifier(input)),
        teacher_(HeadOptions::make_classifier(input)),
        nothing_expected_(at::zeros({input.k()}, at::device(input.device).dtype(input.type))),
        teacher_temperature_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override {
    return classifier_.named_parameters();
  }
  std::vector<std::string> of_classes() const override { return {kPrototypes}; }
  std::optional<Teacher> teacher() const override {
    return Teacher{.parameters = teacher_.named_parameters(), .momentum = options_.momentum};
  }
  /// One strong view of each image, and one weak one for the teacher.
  std::vector<BatchStream> streams() const override {
    return {{.views = 1, .strength = ViewStrength::kStrong},
            {.views = 1, .same_images_as = 0, .for_teacher = true}};
  }
  std::vector<ReportedValue> reported() const override {
    return {{"cls"},
            {"distill"},
            {"memax"},
            {"marginal_old", ReportedKind::kShare},
            {"teacher_temperature", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    const double temperature = options_.classifier.teacher_temperature.at(input.epoch);
    teacher_temperature_.set(temperature);
    return {temperature};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& strong = batches[0];
    const at::Tensor log_p = at::log_softmax(
        classifier_.cosines(strong.features) / options_.classifier.student_temperature,
        1);  // [B, K]
    const at::Tensor taught =
        at::softmax(teacher_.cosines(batches[1].features) / *teacher_temperature_, 1);  // [B, K]
    const at::Tensor distill = taught_loss(log_p, taught, communicator);
    const at::Tensor cls = supervised_loss(log_p, strong, communicator);
    const at::Tensor marginal = mean_prediction(log_p, communicator);  // [K]
    const at::Tensor memax =
        entropy_loss(marginal, nothing_expected_) / static_cast<double>(communicator.size());
    const double sup = options_.classifier.sup_weight;
    return {distill * (1 - sup) + cls * sup + memax * options_.classifier.memax_weight,
            {cls, distill, memax, marginal.narrow(0, 0, old_classes_).sum()}};
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = teacher_.named_parameters().at(kPrototypes).detach(),
                           .temperature = options_.classifier.student_temperature}};
  }

 private:
  const MuGcdOptions options_;
  const std::int64_t old_classes_;
  Head classifier_, teacher_;
  at::Tensor nothing_expected_;  ///< [K] zeros: the entropy itself, not relative to shares
  EpochScalar teacher_temperature_;
};

void MuGcdOptions::declare(OptionTable& table) {
  classifier.declare(table, "the paper leaves it open");
  declare_teacher_momentum(table, momentum);
  gcd.declare(table);
  head.declare(table);
}

std::vector<std::string> MuGcdOptions::resolve(const MethodFacts& facts) {
  check_teacher_momentum(momentum);
  std::vector<std::string> decided = gcd.resolve(facts);
  for (std::string& decision : head.resolve(facts)) decided.push_back(std::move(decision));
  return decided;
}

std::unique_ptr<Method> MuGcdOptions::make(const MethodInput& input) const {
  return std::make_unique<MuGcd>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> mugcd_options();  // for registry.cpp
std::unique_ptr<MethodOptions> mugcd_options() {
  return std::make_unique<MuGcdOptions>();
}

}  // namespace protogcd
