// An ONNX file, written node by node: the few messages that a network of plain operations needs
// (onnx.proto, operator set 17), without ONNX's library.
//
//   OnnxGraph graph("name");
//   const auto x = graph.input("x", {OnnxGraph::kBatch, 3});
//   graph.output("y", graph.node("MatMul", {x, graph.constant("weight", weight)}), {..., 4});
//   graph.write("file.onnx");
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "protogcd/core/protobuf.h"

namespace protogcd {

class OnnxGraph {
 public:
  using Value = std::string;  ///< the name of an input, a constant or a node's output
  using Shape = std::vector<std::int64_t>;
  using Attributes = std::vector<
      std::pair<std::string, std::variant<std::int64_t, float, std::vector<std::int64_t>>>>;

  static constexpr std::int64_t kOperatorSet = 17;
  static constexpr std::int64_t kBatch = -1;  ///< in a shape: any number, the same everywhere

  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  /// float32
  Value input(const std::string& name, const Shape& shape);
  void output(const std::string& name, const Value& value, const Shape& shape);
  /// float32 or int64; other floating types become float32.
  Value constant(const std::string& name, const at::Tensor& values);
  Value node(const std::string& operation, const std::vector<Value>& inputs,
             const Attributes& attributes = {});
  /// Of an operation with several outputs.
  std::vector<Value> nodes(const std::string& operation, const std::vector<Value>& inputs,
                           const Attributes& attributes, std::size_t outputs);
  /// Something to know about the model, for whoever uses it.
  void note(const std::string& key, const std::string& text);

  /// The file appears when complete. UsageError where it would be larger than the format allows.
  void write(const std::filesystem::path& file) const;

 private:
  struct Constant {
    std::string head;   ///< all of the message but the bytes
    at::Tensor values;  ///< contiguous, on the CPU
    std::uint64_t size() const { return head.size() + values.nbytes(); }
  };

  void add_node(const std::string& operation, const std::vector<Value>& inputs,
                const Attributes& attributes, const std::vector<Value>& outputs);

  std::string name_;
  ProtobufMessage nodes_, ends_;  ///< fields of the graph: its nodes; its inputs and outputs
  std::vector<Constant> constants_;
  std::vector<std::pair<std::string, std::string>> notes_;
  std::map<std::string, int> counts_;  ///< nodes of each operation, for their names
};

}  // namespace protogcd
