// What a run asks for, by which its time is told before it begins.
#include "protogcd/discovery/run_time.h"

#include <gtest/gtest.h>

#include "protogcd/core/scratch_folder.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/methods/registry.h"
#include "tests/discovery/run_helpers.h"

namespace protogcd {
namespace {

constexpr std::int64_t kBatch = 16, kEpochs = 3;

RunWork work_of(const testing::TinyRun& work, const std::string& method) {
  DiscoverOptions options = DiscoverOptions::for_train();
  options.data.labelled = work.folder / "demo/labelled";
  options.data.unlabelled = work.folder / "demo/unlabelled";
  options.backbone.backbone = work.folder / "tiny.safetensors";
  options.backbone.image_size = 32;
  options.train.method = find_method(method);
  options.train.material.batch = kBatch;
  options.train.material.sees_strong = options.train.method->sees_strong();
  options.train.loop.schedule.epochs = kEpochs;
  resolve(options, {});
  const Context context{.device = "cpu", .dtype = "float32", .threads = 1};
  const ScratchFolder folder;
  const Backbone backbone = open_backbone(options.backbone, {});
  TrainingMaterial material(open_data(options.data, {}), backbone, options.train.material,
                            folder / "run", BadImagePolicy::parse("fail", "0"), context);
  return work_of(material, backbone, options.train, {}, context);
}

TEST(RunWork, CountsTheViewsOfEveryStreamAndTheStageBefore) {
  const testing::TinyRun tiny;
  const std::int64_t steps = kEpochs * (16 * 6 / kBatch), views = 2 * kBatch;
  for (const auto& [method, times] : {std::pair{"simgcd", 1}, {"xcon", 2}, {"dccl", 2}}) {
    const RunWork work = work_of(tiny, method);
    EXPECT_EQ(work.steps, steps) << method;
    EXPECT_EQ(work.step_views, times * steps * views) << method;
  }
  for (const auto& [method, times] : {std::pair{"mugcd", 2}, {"protogcd-plus", 3}}) {
    const RunWork work = work_of(tiny, method);
    EXPECT_EQ(work.steps, 2 * steps) << method;
    EXPECT_EQ(work.step_views, times * steps * views) << method;
  }
}

}  // namespace
}  // namespace protogcd
