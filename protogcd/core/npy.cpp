#include "protogcd/core/npy.h"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

static_assert(std::endian::native == std::endian::little, "file formats here are little-endian");

namespace protogcd {
namespace {

using namespace std::string_view_literals;

constexpr auto kMagic = "\x93NUMPY"sv;
constexpr std::size_t kLargestNpyHeader = 1 << 20;
constexpr std::size_t kMostDimensions = 32;  // numpy's own limit before version 2
constexpr std::size_t kNpyAlignment = 64;

constexpr std::array<std::pair<std::string_view, ElementType>, 12> kTypes = {{
    {"<f8", ElementType::kFloat64},
    {"<f4", ElementType::kFloat32},
    {"<f2", ElementType::kFloat16},
    {"<i8", ElementType::kInt64},
    {"<i4", ElementType::kInt32},
    {"<i2", ElementType::kInt16},
    {"|i1", ElementType::kInt8},
    {"|u1", ElementType::kUint8},
    {"|b1", ElementType::kBool},
    {"<i1", ElementType::kInt8},
    {"<u1", ElementType::kUint8},
    {"<b1", ElementType::kBool},
}};

/// The header is a Python dict literal with three known keys; this reads just that grammar.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse(std::string& descr, bool& fortran, std::vector<std::int64_t>& shape) {
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !std::exchange(has_descr, true)) {
        if (peek() != '\'' && peek() != '"') fail("structured types are not supported");
        descr = quoted();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        fortran = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        shape = tuple();
      } else {
        fail(fmt::format("unexpected key '{}'", key));
      }
      if (!take(',') && peek() != '}') fail("expected ',' or '}'");
    }
    if (peek() != 0) fail("text after the dictionary");
    if (!has_descr || !has_order || !has_shape) fail("descr, fortran_order or shape is missing");
  }

 private:
  [[noreturn]] void fail(std::string_view reason) const {
    throw DataError(fmt::format("{}: npy header: {}", name_, reason));
  }
  char peek() {
    const std::size_t start = text_.find_first_not_of(" \n\t");
    text_.remove_prefix(start == std::string_view::npos ? text_.size() : start);
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char expected) {
    if (peek() != expected || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char expected) {
    if (!take(expected)) fail(fmt::format("expected '{}'", expected));
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a quoted word");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail("a quote is never closed");
    std::string word(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return word;
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, {"False"sv, false}}) {
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    fail("fortran_order is neither True nor False");
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!take(')')) {
      peek();
      const std::size_t digits = std::min(text_.find_first_not_of("0123456789"), text_.size());
      const auto size = parse_integer(text_.substr(0, digits));
      if (!size) fail("shape is not a tuple of sizes");
      sizes.push_back(*size);
      text_.remove_prefix(digits);
      if (sizes.size() > kMostDimensions) fail("too many dimensions");
      if (!take(',') && peek() != ')') fail("expected ',' or ')'");
    }
    return sizes;
  }

  std::string_view text_;
  const std::string& name_;
};

std::optional<ElementType> type_of_descr(std::string_view descr) {
  for (const auto& [text, type] : kTypes) {
    if (text == descr) return type;
  }
  return std::nullopt;
}

std::string npy_header(ElementType type, std::span<const std::int64_t> shape) {
  std::string_view descr;
  for (const auto& [text, known] : kTypes) {
    if (known == type && descr.empty()) descr = text;
  }
  if (descr.empty()) throw InternalError("write_npy: numpy has no bfloat16");
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  if (shape.size() == 1) sizes.pop_back();
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const std::size_t before = kMagic.size() + 4;
  const std::size_t used = before + text.size() + 1;
  text.append((kNpyAlignment - used % kNpyAlignment) % kNpyAlignment, ' ');
  return text + '\n';
}

template <class T>
std::vector<std::int64_t> widened(const TensorEntry& array) {
  std::vector<std::int64_t> values(array.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = value;  // NOLINT(bugprone-signed-char-misuse): int8 is a number here
  }
  return values;
}

}  // namespace

NpyFile::NpyFile(const std::filesystem::path& path) : file_(std::make_unique<MappedFile>(path)) {
  array_.name = path.string();
  parse(file_->bytes());
}

NpyFile::NpyFile(std::span<const std::byte> bytes, std::string name) {
  array_.name = std::move(name);
  parse(bytes);
}

void NpyFile::parse(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto fail = [this](std::string_view reason) {
    throw DataError(fmt::format("{}: {}", array_.name, reason));
  };
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 4) fail("not an npy file");
  const auto version = static_cast<unsigned char>(text[kMagic.size()]);
  if (version < 1 || version > 3) fail(fmt::format("npy version {} is unknown", version));
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t start = kMagic.size() + 2 + length_bytes;
  std::uint32_t length = 0;
  if (text.size() < start) fail("the header is cut short");
  std::memcpy(&length, text.data() + kMagic.size() + 2, length_bytes);
  if (length > kLargestNpyHeader || length > text.size() - start) {
    fail(fmt::format("header at offset {} claims {} bytes, the file has {}", start, length,
                     text.size()));
  }
  std::string descr;
  bool fortran = false;
  HeaderParser(text.substr(start, length), array_.name).parse(descr, fortran, array_.shape);
  const auto type = type_of_descr(descr);
  if (descr.find('O') != std::string::npos) fail("holds Python objects, which are not supported");
  if (descr.starts_with('>')) fail(fmt::format("big-endian type '{}' is not supported", descr));
  if (!type) fail(fmt::format("type '{}' is not supported", descr));
  if (fortran && array_.shape.size() > 1) {
    fail("Fortran order is not supported: save with numpy.ascontiguousarray(a)");
  }
  array_.type = *type;
  array_.bytes = bytes.subspan(start + length);
  const auto expected = checked_byte_count(array_.shape, *type);
  if (!expected || *expected != array_.bytes.size()) {
    fail(fmt::format("{} bytes of data at offset {} do not fit shape {} of {}", array_.bytes.size(),
                     start + length, array_.shape_text(), element_name(*type)));
  }
}

std::vector<std::int64_t> NpyFile::integers() const {
  switch (array_.type) {
    case ElementType::kInt64:
      return widened<std::int64_t>(array_);
    case ElementType::kInt32:
      return widened<std::int32_t>(array_);
    case ElementType::kInt16:
      return widened<std::int16_t>(array_);
    case ElementType::kInt8:
      return widened<std::int8_t>(array_);
    case ElementType::kUint8:
      return widened<std::uint8_t>(array_);
    default:
      throw DataError(fmt::format("{}: holds {}, expected whole numbers", array_.name,
                                  element_name(array_.type)));
  }
}

NpyWriter::NpyWriter(const std::filesystem::path& path, ElementType type,
                     std::vector<std::int64_t> shape)
    : file_(path), name_(path.string()) {
  const auto size = checked_byte_count(shape, type);
  if (!size) throw InternalError("NpyWriter: bad shape");
  missing_bytes_ = *size;
  file_.write(npy_preamble(type, shape));
}

std::string npy_preamble(ElementType type, std::span<const std::int64_t> shape) {
  const std::string header = npy_header(type, shape);
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string text(kMagic);
  text += "\x01\x00"sv;
  text.append(reinterpret_cast<const char*>(&length), sizeof length);
  return text + header;
}

void NpyWriter::append(std::span<const std::byte> bytes) {
  if (bytes.size() > missing_bytes_) throw InternalError(name_ + ": more rows than declared");
  missing_bytes_ -= bytes.size();
  file_.write(bytes);
}

void NpyWriter::commit() {
  if (missing_bytes_ > 0) throw InternalError(name_ + ": fewer rows than declared");
  file_.commit();
}

void write_npy(const std::filesystem::path& path, const TensorEntry& array) {
  NpyWriter writer(path, array.type, array.shape);
  writer.append(array.bytes);
  writer.commit();
}

}  // namespace protogcd
