// Messages of protocol buffers, written field by field: what TensorBoard's and ONNX's files are
// made of, without their library.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace protogcd {

class ProtobufMessage {
 public:
  ProtobufMessage& varint(unsigned field, std::uint64_t value) {
    put_tag(field, kVarint);
    put_varint(value);
    return *this;
  }
  /// A text, or a message inside this one.
  ProtobufMessage& bytes(unsigned field, std::string_view value) {
    begin_bytes(field, value.size());
    text_ += value;
    return *this;
  }
  ProtobufMessage& message(unsigned field, const ProtobufMessage& value) {
    return bytes(field, value.text());
  }
  /// Announces a field of so many bytes that whoever writes the file puts behind this message:
  /// large ones need not be copied.
  ProtobufMessage& begin_bytes(unsigned field, std::uint64_t size) {
    put_tag(field, kBytes);
    put_varint(size);
    return *this;
  }
  ProtobufMessage& fixed(unsigned field, double value) {
    put_tag(field, kFixed64);
    put_little_endian(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  ProtobufMessage& fixed(unsigned field, float value) {
    put_tag(field, kFixed32);
    put_little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  void put_little_endian(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  const std::string& text() const { return text_; }

 private:
  /// The kind of value that stands beside a field's number.
  enum WireType : unsigned { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

  void put_tag(unsigned field, WireType type) { put_varint(field << 3 | type); }
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }

  std::string text_;
};

}  // namespace protogcd
