// SimGCD (Wen et al., ICCV 2023): a parametric classifier taught by its own sharpened predictions
// of the other view, kept from shrinking to few classes by the entropy of the mean prediction.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "protogcd/methods/head_options.h"
#include "protogcd/methods/losses.h"
#include "protogcd/methods/teacher_options.h"

namespace protogcd {
namespace {

struct SimGcdOptions : MethodOptions {
  TaughtClassifierOptions classifier;
  double unsup_temperature = 1.0, sup_temperature = 0.07;  ///< of the two contrasts
  HeadOptions head;

  std::string name() const override { return "simgcd"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<SimGcdOptions>(*this);
  }
  void declare(OptionTable& table) override;
  std::vector<PublishedSetting> published(const std::string& dataset) const override;
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    return head.resolve(facts);
  }
  std::string tuned_option() const override { return "memax_weight"; }
  std::unique_ptr<Method> make(const MethodInput& input) const override;
};

class SimGcd : public Method {
 public:
  SimGcd(const SimGcdOptions& options, const MethodInput& input)
      : options_(options),
        old_classes_(input.old_classes),
        head_(options.head.make(input)),
        uniform_(at::full({input.k()}, 1.0 / static_cast<double>(input.k()),
                          at::device(input.device).dtype(input.type))
                     .log()),
        teacher_temperature_(input.type, input.device) {}

  std::map<std::string, at::Tensor> parameters() const override { return head_.named_parameters(); }
  std::vector<std::string> of_classes() const override { return {kPrototypes}; }
  std::vector<ReportedValue> reported() const override {
    return {{"cls"},
            {"distill"},
            {"memax"},
            {"unsup_con"},
            {"sup_con"},
            {"marginal_old", ReportedKind::kShare},
            {"teacher_temperature", ReportedKind::kSchedule}};
  }

  std::vector<double> begin_epoch(const EpochInput& input) override {
    const double temperature = options_.classifier.teacher_temperature.at(input.epoch);
    teacher_temperature_.set(temperature);
    return {temperature};
  }

  StepLoss loss(const std::vector<StepBatch>& batches, Communicator& communicator) override {
    const StepBatch& batch = batches[0];
    const HeadOutput output = head_.forward(batch.features);
    const at::Tensor log_p =
        at::log_softmax(output.cosines / options_.classifier.student_temperature, 1);
    const at::Tensor teacher = at::softmax(output.cosines.detach() / *teacher_temperature_, 1);
    const at::Tensor distill = cross_view_loss(log_p, teacher, communicator);
    const at::Tensor marginal = mean_prediction(log_p, communicator);  // [K]
    const at::Tensor memax =
        entropy_loss(marginal, uniform_) / static_cast<double>(communicator.size());
    const at::Tensor cls = supervised_loss(log_p, batch, communicator);
    const at::Tensor unsup_con = unsupervised_contrastive_loss(
        {output.projections}, options_.unsup_temperature, communicator);
    const at::Tensor sup_con = supervised_contrastive_loss({output.projections}, batch,
                                                           options_.sup_temperature, communicator);
    const double sup = options_.classifier.sup_weight;
    return {(distill + memax * options_.classifier.memax_weight + unsup_con) * (1 - sup) +
                (cls + sup_con) * sup,
            {cls, distill, memax, unsup_con, sup_con, marginal.narrow(0, 0, old_classes_).sum()}};
  }

  Outcome outcome(SetFeatures&) const override {
    return {.prototypes = {.centres = head_.named_parameters().at(kPrototypes).detach(),
                           .temperature = options_.classifier.student_temperature}};
  }

 private:
  const SimGcdOptions options_;
  const std::int64_t old_classes_;
  Head head_;
  at::Tensor uniform_;  ///< [K] log 1/K
  EpochScalar teacher_temperature_;
};

void SimGcdOptions::declare(OptionTable& table) {
  classifier.declare(table, "as released 1 to 4 by dataset");
  table.add("unsup_con_temperature", &unsup_temperature, "of the unsupervised contrast").above(0);
  table.add("sup_con_temperature", &sup_temperature, "of the supervised contrast").above(0);
  head.declare(table);
}

std::vector<PublishedSetting> SimGcdOptions::published(const std::string& dataset) const {
  // As in the scripts of its release; they have none for other data.
  const char* memax = dataset == "cifar100" ? "4" : dataset.empty() || dataset == "cub" ? "2" : "1";
  return {{"memax_weight", memax}, head.published()};
}

std::unique_ptr<Method> SimGcdOptions::make(const MethodInput& input) const {
  return std::make_unique<SimGcd>(*this, input);
}

}  // namespace

std::unique_ptr<MethodOptions> simgcd_options();  // for registry.cpp
std::unique_ptr<MethodOptions> simgcd_options() {
  return std::make_unique<SimGcdOptions>();
}

}  // namespace protogcd
