#include "protogcd/model/onnx_export.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <cmath>
#include <numbers>

#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/nn/head.h"
#include "protogcd/nn/onnx_graph.h"

namespace protogcd {
namespace {

using Value = OnnxGraph::Value;

/// nn/vit.h in plain operations. Constants are called as in the release; matrices are transposed,
/// as they multiply from the right.
class OnnxVit {
 public:
  OnnxVit(OnnxGraph& graph, const Vit& vit)
      : graph_(graph),
        vit_(vit),
        config_(vit.config()),
        half_(number("half", 0.5)),
        one_(number("one", 1)),
        root_half_(number("root_half", 1 / std::numbers::sqrt2)),
        attention_scale_(
            number("attention_scale", 1 / std::sqrt(static_cast<double>(config_.head_width())))),
        split_heads_(shape("split_heads", {0, 0, 3, config_.heads, config_.head_width()})),
        join_heads_(shape("join_heads", {0, 0, config_.width})) {
    for (std::int64_t part = 0; part < 3; ++part)
      indices_.push_back(
          graph_.constant(fmt::format("index_{}", part), at::scalar_tensor(part, at::kLong)));
  }

  /// images [N, 3, S, S] -> CLS after the final norm [N, D]
  Value run(const Value& images, std::int64_t size) {
    Value x = tokens(images, size);
    for (std::int64_t i = 0; i < config_.depth; ++i) x = block(i, x);
    const Value first = graph_.node("Gather", {x, indices_[0]}, {{"axis", std::int64_t{1}}});
    return norm("norm", vit_.weights().norm, first);
  }

 private:
  Value number(const std::string& name, double value) {
    return graph_.constant(name, at::scalar_tensor(value, at::kFloat));
  }
  Value shape(const std::string& name, const std::vector<std::int64_t>& sizes) {
    return graph_.constant(name, at::tensor(at::ArrayRef<std::int64_t>(sizes)));
  }
  Value norm(const std::string& name, const NormWeights& weights, const Value& x) {
    return graph_.node(
        "LayerNormalization",
        {x, graph_.constant(name + ".weight", weights.weight),
         graph_.constant(name + ".bias", weights.bias)},
        {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(config_.epsilon)}});
  }
  Value linear(const std::string& name, const LinearWeights& weights, const Value& x) {
    const Value product = graph_.node(
        "MatMul", {x, graph_.constant(name + ".weight.transposed", weights.weight.t())});
    return graph_.node("Add", {product, graph_.constant(name + ".bias", weights.bias)});
  }
  /// x + branch, which layer scale may weigh.
  Value residual(const Value& x, const Value& branch, const std::string& name,
                 const at::Tensor& scale) {
    if (!scale.defined()) return graph_.node("Add", {x, branch});
    return graph_.node("Add", {x, graph_.node("Mul", {branch, graph_.constant(name, scale)})});
  }
  Value tokens(const Value& images, std::int64_t size);
  Value attention(const std::string& name, const BlockWeights& weights, const Value& x);
  Value gelu(const Value& x);
  Value mlp(const std::string& name, const BlockWeights& weights, const Value& x);
  Value block(std::int64_t i, const Value& x);

  OnnxGraph& graph_;
  const Vit& vit_;
  const VitConfig& config_;
  const Value half_, one_, root_half_, attention_scale_, split_heads_, join_heads_;
  std::vector<Value> indices_;  ///< 0, 1, 2
};

/// -> [N, T, D]. Positions are fitted to the size once, here.
Value OnnxVit::tokens(const Value& images, std::int64_t size) {
  const VitWeights& weights = vit_.weights();
  const std::int64_t grid = size / config_.patch, patch = config_.patch;
  const at::Tensor positions = vit_.positions_for(grid, grid);
  at::Tensor prefix = weights.class_token, patch_positions = positions;
  if (config_.position_on_class) {
    prefix = prefix + positions.slice(1, 0, 1);
    patch_positions = positions.slice(1, 1);
  }
  if (config_.registers > 0) prefix = at::cat({prefix, weights.register_tokens}, 1);

  const std::vector<std::int64_t> sides = {patch, patch};
  const Value planes =
      graph_.node("Conv",
                  {images, graph_.constant("patch_embed.proj.weight", weights.patches.weight),
                   graph_.constant("patch_embed.proj.bias", weights.patches.bias)},
                  {{"kernel_shape", sides}, {"strides", sides}});
  const Value rows = graph_.node(
      "Transpose",
      {graph_.node("Reshape", {planes, shape("patch_rows", {0, config_.width, grid * grid})})},
      {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
  const Value patches =
      graph_.node("Add", {rows, graph_.constant("patch_positions", patch_positions)});
  const Value count =
      graph_.node("Shape", {images}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  const Value prefix_shape =
      graph_.node("Concat", {count, shape("prefix_size", {config_.prefix_tokens(), config_.width})},
                  {{"axis", std::int64_t{0}}});
  const Value first =
      graph_.node("Expand", {graph_.constant("prefix_tokens", prefix), prefix_shape});
  return graph_.node("Concat", {first, patches}, {{"axis", std::int64_t{1}}});
}

Value OnnxVit::attention(const std::string& name, const BlockWeights& weights, const Value& x) {
  const auto turned = [&](const Value& value, const std::vector<std::int64_t>& order) {
    return graph_.node("Transpose", {value}, {{"perm", order}});
  };
  const Value qkv = linear(name + "attn.qkv", weights.qkv, x);
  const Value parts = turned(graph_.node("Reshape", {qkv, split_heads_}),
                             {2, 0, 3, 1, 4});  // [3, N, heads, T, D/h]
  const auto part = [&](std::size_t i) {
    return graph_.node("Gather", {parts, indices_[i]}, {{"axis", std::int64_t{0}}});
  };
  const Value queries = graph_.node("Mul", {part(0), attention_scale_});
  const Value scores = graph_.node("MatMul", {queries, turned(part(1), {0, 1, 3, 2})});
  const Value shares = graph_.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const Value mixed = turned(graph_.node("MatMul", {shares, part(2)}), {0, 2, 1, 3});
  return linear(name + "attn.proj", weights.projection,
                graph_.node("Reshape", {mixed, join_heads_}));
}

/// x (1 + erf(x / sqrt 2)) / 2
Value OnnxVit::gelu(const Value& x) {
  const Value erf = graph_.node("Erf", {graph_.node("Mul", {x, root_half_})});
  return graph_.node("Mul", {graph_.node("Mul", {x, half_}), graph_.node("Add", {erf, one_})});
}

Value OnnxVit::mlp(const std::string& name, const BlockWeights& weights, const Value& x) {
  if (!config_.gated_mlp)
    return linear(name + "mlp.fc2", weights.out, gelu(linear(name + "mlp.fc1", weights.in, x)));
  const auto halves = graph_.nodes("Split", {linear(name + "mlp.w12", weights.in, x)},
                                   {{"axis", std::int64_t{-1}}}, 2);
  const Value gate = graph_.node("Mul", {halves[0], graph_.node("Sigmoid", {halves[0]})});
  return linear(name + "mlp.w3", weights.out, graph_.node("Mul", {gate, halves[1]}));
}

Value OnnxVit::block(std::int64_t i, const Value& x) {
  const BlockWeights& weights = vit_.weights().blocks[static_cast<std::size_t>(i)];
  const std::string name = fmt::format("blocks.{}.", i);
  const Value attended =
      residual(x, attention(name, weights, norm(name + "norm1", weights.norm1, x)),
               name + "ls1.gamma", weights.scale1);
  return residual(attended, mlp(name, weights, norm(name + "norm2", weights.norm2, attended)),
                  name + "ls2.gamma", weights.scale2);
}

/// features [N, D] -> what decides about the class [N, K]: TrainedModel::scores_of.
Value class_scores(OnnxGraph& graph, const Prototypes& prototypes, const Value& features) {
  const Value length =
      graph.node("ReduceL2", {features},
                 {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{1}}});
  const Value floor = graph.constant("length_floor", at::scalar_tensor(1e-12, at::kFloat));
  const Value unit = graph.node("Div", {features, graph.node("Max", {length, floor})});
  const bool biased = prototypes.bias.defined();
  const at::Tensor centres = biased ? prototypes.centres : unit_rows(prototypes.centres);
  const Value scores =
      graph.node("MatMul", {unit, graph.constant("prototypes.transposed", centres.t())});
  if (!biased) return scores;
  return graph.node("Add", {scores, graph.constant("prototype_bias", prototypes.bias)});
}

/// TrainedModel::posterior_of.
Value probabilities(OnnxGraph& graph, const ModelInfo& info, const Value& scores,
                    const Value& logits) {
  Value calibrated = logits;
  if (info.confidence) {
    const auto number = [&](const char* name, double value) {
      return graph.constant(name, at::scalar_tensor(value, at::kFloat));
    };
    const Value best = graph.node("ArgMax", {scores}, {{"axis", std::int64_t{1}}});  // [N, 1]
    const Value is_new = graph.node(
        "GreaterOrEqual",
        {best, graph.constant("old_classes", at::scalar_tensor(info.old_classes, at::kLong))});
    const Value temperature =
        graph.node("Where", {is_new, number("temperature_new", info.confidence->new_temperature),
                             number("temperature_old", info.confidence->old_temperature)});
    calibrated = graph.node("Div", {scores, temperature});
  }
  return graph.node("Softmax", {calibrated}, {{"axis", std::int64_t{-1}}});
}

}  // namespace

void write_onnx(const std::filesystem::path& file, const StoredModel& model) {
  const ModelInfo& info = model.info;
  const std::int64_t size = info.preprocessing.size;
  const Vit vit = model.backbone.vit.converted(at::kFloat, at::kCPU);
  OnnxGraph graph("protogcd");
  const Value images = graph.input("images", {OnnxGraph::kBatch, 3, size, size});
  const Value features = OnnxVit(graph, vit).run(images, size);
  const Value scores = class_scores(graph, model.prototypes, features);
  const Value logits = graph.node(
      "Div",
      {scores, graph.constant("temperature", at::scalar_tensor(info.temperature, at::kFloat))});
  graph.output("features", features, {OnnxGraph::kBatch, info.width});
  graph.output("logits", logits, {OnnxGraph::kBatch, info.k()});
  graph.output("probabilities", probabilities(graph, info, scores, logits),
               {OnnxGraph::kBatch, info.k()});
  graph.note("classes", nlohmann::json(info.classes).dump());
  graph.note("old_classes", std::to_string(info.old_classes));
  graph.note("image_size", std::to_string(size));
  graph.note("mean", join(info.preprocessing.mean, ","));
  graph.note("std", join(info.preprocessing.deviation, ","));
  graph.note("temperature", fmt::format("{}", info.temperature));
  graph.write(file);
}

}  // namespace protogcd
