// ONNX files of models: their structure, and the numbers that ONNX Runtime gets from them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "protogcd/core/files.h"
#include "protogcd/core/npy.h"
#include "protogcd/model/onnx_export.h"
#include "protogcd/nn/random_state.h"
#include "tests/support/python.h"
#include "tests/support/temporary_folder.h"

namespace protogcd::testing {
namespace {

/// The fields of a message of protocol buffers, by number.
class Fields {
 public:
  explicit Fields(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::uint64_t tag = varint(bytes);
      const auto field = static_cast<int>(tag >> 3);
      switch (tag & 7) {
        case 0:
          numbers_[field].push_back(varint(bytes));
          break;
        case 2:
          texts_[field].push_back(take(bytes, varint(bytes)));
          break;
        case 5:
          take(bytes, 4);
          break;
        default:
          throw std::runtime_error("a kind of field that is not written");
      }
    }
  }
  const std::vector<std::uint64_t>& numbers(int field) { return numbers_[field]; }
  const std::vector<std::string_view>& texts(int field) { return texts_[field]; }
  std::string text(int field) { return std::string(texts(field).at(0)); }

 private:
  static std::uint64_t varint(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(0));
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  static std::string_view take(std::string_view& bytes, std::uint64_t size) {
    if (size > bytes.size()) throw std::runtime_error("a field that is longer than its message");
    const std::string_view taken = bytes.substr(0, size);
    bytes.remove_prefix(size);
    return taken;
  }

  std::map<int, std::vector<std::uint64_t>> numbers_;
  std::map<int, std::vector<std::string_view>> texts_;
};

constexpr int kClasses = 7, kOld = 4, kImageSize = 24;

/// A model of random weights, with prototypes of random directions.
StoredModel random_model(const VitConfig& config) {
  Backbone backbone{.file = std::string(kBuiltinBackbone),
                    .preset = {},
                    .config = config,
                    .preprocessing = {.size = kImageSize, .mean = {0.1, 0.2, 0.3}},
                    .vit = Vit(config, random_vit_state(config, at::kFloat))};
  ModelInfo info = untrained_model_info(backbone, {"a", "b", "c", "d"}, kClasses, ReadingOptions());
  info.temperature = 0.05;
  at::manual_seed(3);
  Prototypes prototypes{.centres = at::randn({kClasses, config.width}), .temperature = 0.05};
  return {std::move(info), std::move(backbone), std::move(prototypes)};
}

const VitConfig kPlain{.patch = 8, .width = 32, .depth = 2, .heads = 2, .hidden = 48, .grid = 4};

/// All that a DINOv2 file can have: registers, layer scale, gates; and no position for CLS.
VitConfig everything() {
  VitConfig config = kPlain;
  config.registers = 3;
  config.layer_scale = true;
  config.gated_mlp = true;
  config.position_on_class = false;
  config.position_rule = PositionRule::kAntialias;
  config.epsilon = 1e-5;
  return config;
}

constexpr const char* kRunOnnx =
    "import json, sys\n"
    "import numpy, onnxruntime\n"
    "session = onnxruntime.InferenceSession(sys.argv[1], providers=['CPUExecutionProvider'])\n"
    "images = numpy.load(sys.argv[2])\n"
    "def run(images):\n"
    "    values = session.run(None, {'images': images})\n"
    "    return {o.name: v.tolist() for o, v in zip(session.get_outputs(), values)}\n"
    "print(json.dumps({'inputs': [i.name for i in session.get_inputs()],\n"
    "                  'shape': session.get_inputs()[0].shape,\n"
    "                  'notes': session.get_modelmeta().custom_metadata_map,\n"
    "                  'one': run(images[:1]), 'all': run(images)}))\n";

at::Tensor tensor_of_rows(const nlohmann::json& rows) {
  std::vector<float> values;
  for (const auto& row : rows)
    for (const auto& value : row) values.push_back(value.get<float>());
  return at::tensor(at::ArrayRef<float>(values)).view({std::ssize(rows), -1});
}

/// Whether ONNX Runtime gets the model's own numbers, for two numbers of images; false where there
/// is none.
bool agrees_with_onnxruntime(const StoredModel& stored, const TemporaryFolder& folder) {
  write_onnx(folder / "model.onnx", stored);
  const at::Tensor images = at::randn({5, 3, kImageSize, kImageSize});
  write_npy(folder / "images.npy", entry_of("images", images));
  const auto answer =
      ask_python("onnxruntime", kRunOnnx, {folder / "model.onnx", folder / "images.npy"});
  if (answer.is_null()) return false;

  const Context context{.device = "cpu", .dtype = "float32"};
  TrainedModel model(stored.backbone, stored.info, place(context));
  model.set_prototypes(stored.prototypes);
  const at::Tensor features = stored.backbone.vit.forward(images);
  const at::Tensor scores = model.scores_of(model.cosines_of(features));
  const std::map<std::string, at::Tensor> expected = {
      {"features", features},
      {"logits", scores / stored.info.temperature},
      {"probabilities", model.posterior_of(scores)}};
  for (const auto& [name, values] : expected) {
    const at::Tensor all = tensor_of_rows(answer.at("all").at(name)),
                     one = tensor_of_rows(answer.at("one").at(name));
    EXPECT_EQ(all.sizes(), values.sizes()) << name;
    EXPECT_EQ(one.size(0), 1);
    EXPECT_LT((all - values).abs().max().item<double>(), 1e-4) << name;
    EXPECT_LT((one - values.slice(0, 0, 1)).abs().max().item<double>(), 1e-4) << name;
  }
  EXPECT_EQ(answer.at("inputs"), nlohmann::json({"images"}));
  EXPECT_EQ(answer.at("shape"), nlohmann::json({"N", 3, kImageSize, kImageSize}));
  EXPECT_EQ(nlohmann::json::parse(answer.at("notes").at("classes").get<std::string>()),
            nlohmann::json(stored.info.classes));
  EXPECT_EQ(answer.at("notes").at("mean"), "0.1,0.2,0.3");
  return true;
}

constexpr const char* kNoRuntime =
    "no Python with the package onnxruntime: `make test` installs it";

TEST(OnnxExport, OnnxRuntimeGetsThePlainModelsNumbers) {
  const TemporaryFolder folder;
  if (!agrees_with_onnxruntime(random_model(kPlain), folder)) GTEST_SKIP() << kNoRuntime;
}

TEST(OnnxExport, OnnxRuntimeGetsTheNumbersOfRegistersLayerScaleAndGates) {
  const TemporaryFolder folder;
  if (!agrees_with_onnxruntime(random_model(everything()), folder)) GTEST_SKIP() << kNoRuntime;
}

TEST(OnnxExport, OnnxRuntimeGetsTheBiasAndTheCalibratedConfidence) {
  const TemporaryFolder folder;
  StoredModel stored = random_model(kPlain);
  stored.prototypes.bias = -stored.prototypes.centres.square().sum(1) / 2;
  stored.info.confidence = Confidence{};
  stored.info.confidence->old_temperature = 0.2;
  stored.info.confidence->new_temperature = 3;
  if (!agrees_with_onnxruntime(stored, folder)) GTEST_SKIP() << kNoRuntime;
}

TEST(OnnxExport, EveryValueIsMadeOnceBeforeItIsUsedAndConstantsHaveTheirBytes) {
  const TemporaryFolder folder;
  write_onnx(folder / "model.onnx", random_model(everything()));
  const std::string file = read_text_file(folder / "model.onnx");
  Fields model(file);
  EXPECT_EQ(model.numbers(1).at(0), 8u);  // IR version
  Fields operators(model.texts(8).at(0));
  EXPECT_EQ(operators.numbers(2).at(0), 17u);
  Fields graph(model.texts(7).at(0));

  std::set<std::string> known;
  for (const std::string_view bytes : graph.texts(5)) {  // constants
    Fields tensor(bytes);
    std::uint64_t count = 1;
    for (const std::uint64_t size : tensor.numbers(1)) count *= size;
    const std::uint64_t width = tensor.numbers(2).at(0) == 1 ? 4 : 8;
    EXPECT_EQ(tensor.texts(9).at(0).size(), count * width) << tensor.text(8);
    EXPECT_TRUE(known.insert(tensor.text(8)).second) << tensor.text(8);
  }
  for (const std::string_view bytes : graph.texts(11)) known.insert(Fields(bytes).text(1));
  EXPECT_TRUE(known.contains("images"));
  std::set<std::string> unused = known;
  for (const std::string_view bytes : graph.texts(1)) {
    Fields node(bytes);
    for (const std::string_view name : node.texts(1)) {
      EXPECT_TRUE(known.contains(std::string(name))) << name;
      unused.erase(std::string(name));
    }
    for (const std::string_view name : node.texts(2))
      EXPECT_TRUE(known.insert(std::string(name)).second) << name;
  }
  for (const std::string_view bytes : graph.texts(12))
    EXPECT_TRUE(known.contains(Fields(bytes).text(1)));
  EXPECT_EQ(graph.texts(12).size(), 3u);
  // GELU's constants, which gates do without.
  EXPECT_THAT(unused, ::testing::IsSubsetOf({"half", "one", "root_half"}));
}

}  // namespace
}  // namespace protogcd::testing
