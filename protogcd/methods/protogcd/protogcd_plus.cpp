// ProtoGCD+ (Ma et al., TPAMI 2025, table 5): ProtoGCD with an average of itself as teacher, which
// sees weak views where the trained model sees strong ones, on features of a GCD training. The
// paper says no more; what we chose is listed in docs/methods.md.
#include "protogcd/methods/protogcd/protogcd.h"
#include "protogcd/methods/teacher_options.h"

namespace protogcd {
namespace {

struct ProtoGcdPlusOptions : ProtoGcdOptions {
  TeacherMomentum momentum;
  GcdStage gcd;

  std::string name() const override { return "protogcd-plus"; }
  std::unique_ptr<MethodOptions> copy() const override {
    return std::make_unique<ProtoGcdPlusOptions>(*this);
  }
  void declare(OptionTable& table) override {
    ProtoGcdOptions::declare(table);
    declare_teacher_momentum(table, momentum);
    gcd.declare(table);
  }
  std::vector<std::string> resolve(const MethodFacts& facts) override {
    check_teacher_momentum(momentum);
    std::vector<std::string> decided = ProtoGcdOptions::resolve(facts);
    for (std::string& decision : gcd.resolve(facts)) decided.push_back(std::move(decision));
    return decided;
  }
  std::vector<PublishedSetting> published(const std::string& dataset) const override {
    std::vector<PublishedSetting> settings = ProtoGcdOptions::published(dataset);
    settings.push_back(gcd.published());
    return settings;
  }
  void change_epochs(std::int64_t before, std::int64_t now) override {
    ProtoGcdOptions::change_epochs(before, now);
    gcd.change_epochs(before, now);
  }
  bool sees_strong() const override { return true; }
  std::int64_t views_per_step(std::int64_t batch) const override { return 4 * batch; }
  std::optional<FirstStage> first_stage() const override { return gcd.stage(head); }
  std::unique_ptr<Method> make(const MethodInput& input) const override {
    ProtoGcdOptions with_teacher = *this;
    with_teacher.teacher = momentum;
    return with_teacher.make(input);
  }
};

}  // namespace

std::unique_ptr<MethodOptions> protogcd_plus_options();  // for registry.cpp
std::unique_ptr<MethodOptions> protogcd_plus_options() {
  return std::make_unique<ProtoGcdPlusOptions>();
}

}  // namespace protogcd
