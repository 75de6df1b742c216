#include "protogcd/nn/onnx_graph.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/core/version.h"

namespace protogcd {
namespace {

// Numbers of the fields that are used, by message of onnx.proto.
namespace model_field {
constexpr unsigned kIrVersion = 1, kProducer = 2, kProducerVersion = 3, kGraph = 7,
                   kOperatorSets = 8, kNotes = 14;
}
namespace operator_set_field {
constexpr unsigned kDomain = 1, kVersion = 2;
}
namespace note_field {
constexpr unsigned kKey = 1, kValue = 2;
}
namespace graph_field {
constexpr unsigned kNode = 1, kName = 2, kConstant = 5, kInput = 11, kOutput = 12;
}
namespace node_field {
constexpr unsigned kInput = 1, kOutput = 2, kName = 3, kOperation = 4, kAttribute = 5;
}
namespace attribute_field {
constexpr unsigned kName = 1, kFloat = 2, kInt = 3, kInts = 8, kType = 20;
constexpr unsigned kTypeFloat = 1, kTypeInt = 2, kTypeInts = 7;
}  // namespace attribute_field
namespace tensor_field {
constexpr unsigned kSize = 1, kType = 2, kName = 8, kBytes = 9;
constexpr unsigned kTypeFloat = 1, kTypeInt64 = 7;
}  // namespace tensor_field
namespace value_field {
constexpr unsigned kName = 1, kType = 2;
constexpr unsigned kTensorType = 1, kElementType = 1, kShape = 2, kDimension = 1;
constexpr unsigned kNumber = 1, kParameter = 2;
}  // namespace value_field

constexpr std::uint64_t kIrVersion = 8;                               // that of operator set 17
constexpr std::uint64_t kLargestFile = (std::uint64_t{1} << 31) - 1;  // of protocol buffers

struct AttributeWriter {
  ProtobufMessage& message;

  void operator()(std::int64_t value) const {
    message.varint(attribute_field::kInt, static_cast<std::uint64_t>(value));
    message.varint(attribute_field::kType, attribute_field::kTypeInt);
  }
  void operator()(float value) const {
    message.fixed(attribute_field::kFloat, value);
    message.varint(attribute_field::kType, attribute_field::kTypeFloat);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    for (const std::int64_t value : values)
      message.varint(attribute_field::kInts, static_cast<std::uint64_t>(value));
    message.varint(attribute_field::kType, attribute_field::kTypeInts);
  }
};

ProtobufMessage described(const std::string& name, const OnnxGraph::Shape& shape) {
  ProtobufMessage sizes;
  for (const std::int64_t size : shape) {
    ProtobufMessage dimension;
    if (size == OnnxGraph::kBatch) {
      dimension.bytes(value_field::kParameter, "N");
    } else {
      dimension.varint(value_field::kNumber, static_cast<std::uint64_t>(size));
    }
    sizes.message(value_field::kDimension, dimension);
  }
  ProtobufMessage tensor, type, value;
  tensor.varint(value_field::kElementType, tensor_field::kTypeFloat);
  tensor.message(value_field::kShape, sizes);
  type.message(value_field::kTensorType, tensor);
  return value.bytes(value_field::kName, name).message(value_field::kType, type);
}

/// Everything of the model but the graph's content, which `size` bytes follow.
ProtobufMessage model_head(const std::vector<std::pair<std::string, std::string>>& notes,
                           std::uint64_t size) {
  ProtobufMessage model, operators;
  operators.bytes(operator_set_field::kDomain, "");
  operators.varint(operator_set_field::kVersion, OnnxGraph::kOperatorSet);
  model.varint(model_field::kIrVersion, kIrVersion);
  model.bytes(model_field::kProducer, "protogcd").bytes(model_field::kProducerVersion, kVersion);
  model.message(model_field::kOperatorSets, operators);
  for (const auto& [key, text] : notes) {
    model.message(model_field::kNotes,
                  ProtobufMessage().bytes(note_field::kKey, key).bytes(note_field::kValue, text));
  }
  return model.begin_bytes(model_field::kGraph, size);
}

}  // namespace

OnnxGraph::Value OnnxGraph::input(const std::string& name, const Shape& shape) {
  ends_.message(graph_field::kInput, described(name, shape));
  return name;
}

void OnnxGraph::output(const std::string& name, const Value& value, const Shape& shape) {
  add_node("Identity", {value}, {}, {name});
  ends_.message(graph_field::kOutput, described(name, shape));
}

OnnxGraph::Value OnnxGraph::constant(const std::string& name, const at::Tensor& values) {
  const bool whole = values.scalar_type() == at::kLong;
  Constant added{
      .head = {},
      .values = values.detach().to(at::kCPU, whole ? at::kLong : at::kFloat).contiguous()};
  ProtobufMessage tensor;
  for (const std::int64_t size : values.sizes())
    tensor.varint(tensor_field::kSize, static_cast<std::uint64_t>(size));
  tensor.varint(tensor_field::kType, whole ? tensor_field::kTypeInt64 : tensor_field::kTypeFloat);
  tensor.bytes(tensor_field::kName, name);
  added.head = tensor.begin_bytes(tensor_field::kBytes, added.values.nbytes()).text();
  constants_.push_back(std::move(added));
  return name;
}

OnnxGraph::Value OnnxGraph::node(const std::string& operation, const std::vector<Value>& inputs,
                                 const Attributes& attributes) {
  return nodes(operation, inputs, attributes, 1).front();
}

std::vector<OnnxGraph::Value> OnnxGraph::nodes(const std::string& operation,
                                               const std::vector<Value>& inputs,
                                               const Attributes& attributes, std::size_t outputs) {
  std::vector<Value> names;
  for (std::size_t i = 0; i < outputs; ++i)
    names.push_back(fmt::format("{}_{}", operation, ++counts_[operation]));
  add_node(operation, inputs, attributes, names);
  return names;
}

void OnnxGraph::add_node(const std::string& operation, const std::vector<Value>& inputs,
                         const Attributes& attributes, const std::vector<Value>& outputs) {
  ProtobufMessage node;
  for (const Value& value : inputs) node.bytes(node_field::kInput, value);
  for (const Value& value : outputs) node.bytes(node_field::kOutput, value);
  node.bytes(node_field::kName, outputs.front()).bytes(node_field::kOperation, operation);
  for (const auto& [name, value] : attributes) {
    ProtobufMessage attribute;
    attribute.bytes(attribute_field::kName, name);
    std::visit(AttributeWriter{attribute}, value);
    node.message(node_field::kAttribute, attribute);
  }
  nodes_.message(graph_field::kNode, node);
}

void OnnxGraph::note(const std::string& key, const std::string& text) {
  notes_.emplace_back(key, text);
}

void OnnxGraph::write(const std::filesystem::path& file) const {
  ProtobufMessage head = nodes_;
  head.bytes(graph_field::kName, name_);
  std::vector<std::string> announced;  // of each constant
  std::uint64_t size = head.text().size() + ends_.text().size();
  for (const Constant& constant : constants_) {
    announced.push_back(
        ProtobufMessage().begin_bytes(graph_field::kConstant, constant.size()).text());
    size += announced.back().size() + constant.size();
  }
  const ProtobufMessage model = model_head(notes_, size);
  if (model.text().size() + size > kLargestFile) {
    throw UsageError(fmt::format("{}: the network's {} are more than the 2 GiB that an ONNX file "
                                 "can hold",
                                 file.string(), human_bytes(size)),
                     "safetensors have no such limit");
  }
  AtomicFile out(file);
  out.write(model.text());
  out.write(head.text());
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    out.write(announced[i]);
    out.write(constants_[i].head);
    const at::Tensor& values = constants_[i].values;
    out.write({static_cast<const std::byte*>(values.const_data_ptr()), values.nbytes()});
  }
  out.write(ends_.text());
  out.commit();
}

}  // namespace protogcd
