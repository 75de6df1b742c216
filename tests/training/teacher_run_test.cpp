// Runs with a teacher: what of it is kept, and how fast it follows.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "protogcd/nn/state_dict.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::json_of;
using testing::run_protogcd;
using testing::TinyRun;

const std::string kTeacher = "state.teacher.", kTrained = "value.";

struct Ended {
  StateDict checkpoint, model;
};

Ended trained(const TinyRun& work, const std::string& name, std::vector<std::string> more) {
  more.insert(more.end(), {"--method", "mugcd", "--gcd-epochs", "1"});
  json_of(run_protogcd(work.train(name, more)));
  return {load_state_dict(work.folder / name / "checkpoints/latest.safetensors"),
          load_state_dict(work.folder / name / "model/model.safetensors")};
}

double apart(const Ended& run, const std::string& tensor) {
  return (run.checkpoint.tensors.at(kTeacher + tensor) -
          run.checkpoint.tensors.at(kTrained + tensor))
      .abs()
      .max()
      .item<double>();
}

TEST(TeacherRun, TheModelIsTheTeacher) {
  const TinyRun work;
  const Ended run = trained(work, "run", {});
  int compared = 0;
  for (const auto& [name, tensor] : run.checkpoint.tensors) {
    if (!name.starts_with(kTeacher)) continue;
    const std::string own = name.substr(kTeacher.size());
    EXPECT_TRUE(at::equal(run.model.tensors.at(own), tensor)) << own;
    EXPECT_GT(apart(run, own), 0) << own;
    ++compared;
  }
  EXPECT_GT(compared, 12);
  EXPECT_TRUE(at::equal(run.model.tensors.at("prototypes"),
                        run.checkpoint.tensors.at(kTeacher + "1.prototype_layer.weight_v")));
}

// From 0 to 1 over the run: were it the first step's in all of them, the teacher would be what is
// trained.
TEST(TeacherRun, TheMomentumIsThatOfTheStep) {
  const TinyRun work;
  const Ended rising =
      trained(work, "rising", {"--teacher-momentum", "0", "--last-teacher-momentum", "1"});
  const Ended none =
      trained(work, "none", {"--teacher-momentum", "1", "--last-teacher-momentum", "0"});
  EXPECT_GT(apart(rising, "1.prototype_layer.weight_v"), 1e-5);
  EXPECT_EQ(apart(none, "1.prototype_layer.weight_v"), 0);
}

TEST(TeacherRun, MomentaThatWouldBeginBelowZeroAreRefusedByName) {
  const TinyRun work;
  for (const char* method : {"mugcd", "protogcd-plus"}) {
    const auto refused = run_protogcd(work.train("run", {"--method", method, "--teacher-momentum",
                                                         "0.2", "--last-teacher-momentum", "0.7"}));
    EXPECT_EQ(refused.exit_code, 2) << method;
    EXPECT_THAT(refused.errors,
                AllOf(HasSubstr("--teacher-momentum 0.2"), HasSubstr("--last-teacher-momentum 0.7"),
                      HasSubstr("at least 1")));
    EXPECT_FALSE(std::filesystem::exists(work.folder / "run"));
  }
}

}  // namespace
}  // namespace protogcd
