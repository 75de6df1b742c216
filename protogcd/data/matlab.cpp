#include "protogcd/data/matlab.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>

#include "protogcd/core/error.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kMostDimensions = 8;
constexpr std::size_t kMostFields = 256;
constexpr std::size_t kMostStructValues = 1'000'000;
constexpr int kDeepest = 8;
// SVHN's largest file holds 600,000 images (1.8 GB); a compressed array may not claim to be larger.
constexpr std::size_t kLargestInflated = std::size_t{4} << 30;

enum DataType : std::uint32_t {
  kInt8 = 1,
  kUint8 = 2,
  kInt16 = 3,
  kUint16 = 4,
  kInt32 = 5,
  kUint32 = 6,
  kSingle = 7,
  kDouble = 9,
  kInt64 = 12,
  kUint64 = 13,
  kMatrix = 14,
  kCompressed = 15,
  kUtf8 = 16,
  kUtf16 = 17,
};

std::size_t size_of(std::uint32_t type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kUtf8:
      return 1;
    case kInt16:
    case kUint16:
    case kUtf16:
      return 2;
    case kInt32:
    case kUint32:
    case kSingle:
      return 4;
    case kDouble:
    case kInt64:
    case kUint64:
      return 8;
    default:
      return 0;
  }
}

template <class T>
double load_as(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

double number_at(std::uint32_t type, const std::byte* bytes) {
  switch (type) {
    case kInt8:
      return load_as<std::int8_t>(bytes);
    case kUint8:
    case kUtf8:
      return load_as<std::uint8_t>(bytes);
    case kInt16:
      return load_as<std::int16_t>(bytes);
    case kUint16:
    case kUtf16:
      return load_as<std::uint16_t>(bytes);
    case kInt32:
      return load_as<std::int32_t>(bytes);
    case kUint32:
      return load_as<std::uint32_t>(bytes);
    case kSingle:
      return load_as<float>(bytes);
    case kInt64:
      return load_as<std::int64_t>(bytes);
    case kUint64:
      return load_as<std::uint64_t>(bytes);
    default:
      return load_as<double>(bytes);
  }
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xE0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

struct DataElement {
  std::uint32_t type = 0;
  std::span<const std::byte> bytes;

  std::size_t count() const { return bytes.size() / size_of(type); }
};

/// Reads the elements of one run of bytes: the file itself, an inflated array, or a matrix.
class ElementReader {
 public:
  ElementReader(std::span<const std::byte> bytes, const std::string& name)
      : bytes_(bytes), name_(name) {}

  bool at_end() const { return position_ == bytes_.size(); }

  [[noreturn]] void fail(std::string_view reason) const {
    throw DataError(fmt::format("{}: at offset {}: {}", name_, start_, reason));
  }

  /// The next element. Padding follows each, except compressed ones.
  DataElement next() {
    start_ = position_;
    const std::uint32_t first = word();
    if (first >> 16 != 0) return small(first);
    const std::uint32_t length = word();
    if (length > bytes_.size() - position_) {
      fail(fmt::format("claims {} bytes, {} are left", length, bytes_.size() - position_));
    }
    const auto data = bytes_.subspan(position_, length);
    position_ += length;
    if (first != kCompressed) {
      position_ = std::min(position_ + (8 - length % 8) % 8, bytes_.size());
    }
    return {first, data};
  }

  DataElement next(std::initializer_list<std::uint32_t> types, std::string_view what) {
    const DataElement element = next();
    if (std::ranges::find(types, element.type) == types.end()) {
      fail(fmt::format("{} has the unexpected type {}", what, element.type));
    }
    return element;
  }

 private:
  std::uint32_t word() {
    if (bytes_.size() - position_ < 4) fail("cut short");
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + position_, 4);
    position_ += 4;
    return value;
  }
  /// Up to four bytes stored within the tag.
  DataElement small(std::uint32_t tag) {
    const std::uint32_t length = tag >> 16;
    if (length > 4 || bytes_.size() - position_ < 4) fail("a short element is broken");
    const auto data = bytes_.subspan(position_, length);
    position_ += 4;
    return {tag & 0xFFFF, data};
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  std::size_t position_ = 0, start_ = 0;
};

/// Builds the arrays of one matrix element.
class MatrixParser {
 public:
  explicit MatrixParser(const std::string& file) : file_(file) {}

  MatlabArray parse(std::span<const std::byte> bytes, int depth = 0) {
    MatlabArray array;
    if (bytes.empty()) return array;  // how an empty field is stored
    ElementReader reader(bytes, file_);
    if (depth > kDeepest) reader.fail("nested too deeply");
    const auto flags = reader.next({kUint32}, "an array's flags");
    if (flags.bytes.size() != 8) reader.fail("an array's flags are broken");
    const std::uint32_t flag_word = word_of(flags);
    read_dimensions(reader, array);
    const auto name = reader.next({kInt8, kUtf8}, "an array's name");
    array.name.assign(reinterpret_cast<const char*>(name.bytes.data()), name.bytes.size());
    constexpr std::uint32_t kStructClass = 2, kCharClass = 4, kFirstNumeric = 6, kLastNumeric = 15;
    constexpr std::uint32_t kComplexFlag = 0x0800;
    const std::uint32_t array_class = flag_word & 0xFF;
    if (array_class == kStructClass) {
      read_struct(reader, array, depth);
    } else if (array_class == kCharClass) {
      read_text(reader, array);
    } else if (array_class >= kFirstNumeric && array_class <= kLastNumeric &&
               (flag_word & kComplexFlag) == 0) {
      read_numbers(reader, array);
    }
    return array;
  }

 private:
  static std::uint32_t word_of(const DataElement& element) {
    std::uint32_t value = 0;
    std::memcpy(&value, element.bytes.data(), sizeof(value));
    return value;
  }

  static void read_dimensions(ElementReader& reader, MatlabArray& array) {
    const auto sizes = reader.next({kInt32}, "an array's dimensions");
    if (sizes.count() < 2 || sizes.count() > kMostDimensions) {
      reader.fail("an array has too few or too many dimensions");
    }
    std::uint64_t total = 1;
    for (std::size_t i = 0; i < sizes.count(); ++i) {
      std::int32_t size = 0;
      std::memcpy(&size, sizes.bytes.data() + 4 * i, 4);
      if (size < 0) reader.fail("an array has a negative dimension");
      array.dimensions.push_back(static_cast<std::size_t>(size));
      if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(size), &total)) {
        reader.fail("an array is too large");
      }
    }
  }

  static void read_numbers(ElementReader& reader, MatlabArray& array) {
    const auto data = reader.next();
    const std::size_t size = size_of(data.type);
    if (size == 0) reader.fail(fmt::format("numbers have the unknown type {}", data.type));
    if (data.bytes.size() % size != 0 || data.count() != array.element_count()) {
      reader.fail(fmt::format("array '{}' has {} numbers, its dimensions need {}", array.name,
                              data.count(), array.element_count()));
    }
    array.kind = MatlabArray::Kind::kNumeric;
    if (data.type == kUint8) {
      array.bytes = data.bytes;
      return;
    }
    array.numbers.resize(data.count());
    for (std::size_t i = 0; i < array.numbers.size(); ++i) {
      array.numbers[i] = number_at(data.type, data.bytes.data() + i * size);
    }
  }

  static void read_text(ElementReader& reader, MatlabArray& array) {
    const auto data = reader.next({kInt8, kUint8, kUint16, kUtf8, kUtf16}, "text");
    array.kind = MatlabArray::Kind::kText;
    if (data.type == kUtf8 || data.type == kInt8) {
      array.text.assign(reinterpret_cast<const char*>(data.bytes.data()), data.bytes.size());
      return;
    }
    const std::size_t size = size_of(data.type);
    for (std::size_t i = 0; i < data.count(); ++i) {
      append_utf8(array.text,
                  static_cast<std::uint32_t>(number_at(data.type, data.bytes.data() + i * size)));
    }
  }

  void read_struct(ElementReader& reader, MatlabArray& array, int depth) {
    const auto length = reader.next({kInt32}, "the length of field names");
    if (length.bytes.size() != 4) reader.fail("the length of field names is broken");
    const std::size_t width = word_of(length);
    const auto names = reader.next({kInt8}, "field names");
    if (width == 0 || names.bytes.size() % width != 0 || names.bytes.size() / width > kMostFields) {
      reader.fail("field names are broken");
    }
    const std::string_view text(reinterpret_cast<const char*>(names.bytes.data()),
                                names.bytes.size());
    for (std::size_t i = 0; i < text.size(); i += width) {
      const auto cell = text.substr(i, width);
      array.fields.emplace_back(cell.substr(0, cell.find('\0')));
    }
    array.kind = MatlabArray::Kind::kStruct;
    const std::uint64_t elements = array.element_count();
    if (array.fields.empty()) return;
    if (elements > kMostStructValues / array.fields.size()) reader.fail("too many structs");
    // No reserve: the count is only a claim until the values are there.
    for (std::uint64_t i = 0; i < elements * array.fields.size(); ++i) {
      const auto value = reader.next({kMatrix}, "a field's value");
      if (++values_ > kMostStructValues) reader.fail("too many values");
      array.elements.push_back(parse(value.bytes, depth + 1));
    }
  }

  const std::string& file_;
  std::size_t values_ = 0;
};

/// Inflates a whole zlib stream, growing as data comes: a claim of size alone allocates nothing.
std::vector<std::byte> inflate_all(std::span<const std::byte> packed, const std::string& name) {
  std::vector<std::byte> data;
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw InternalError("zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK && data.size() < kLargestInflated) {
    const std::size_t filled = data.size();
    data.resize(filled + std::clamp<std::size_t>(filled / 2, 4096, 1 << 28));
    stream.next_out = reinterpret_cast<Bytef*>(data.data() + filled);
    stream.avail_out = static_cast<uInt>(data.size() - filled);
    status = inflate(&stream, Z_NO_FLUSH);
    data.resize(data.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) {
    throw DataError(fmt::format("{}: a compressed array is damaged or too large", name));
  }
  return data;
}

}  // namespace

struct MatlabFile::Storage {
  std::optional<MappedFile> file;
  std::deque<std::vector<std::byte>> inflated;
};

std::size_t MatlabArray::element_count() const {
  std::size_t count = 1;
  for (const std::size_t size : dimensions) count *= size;
  return dimensions.empty() ? 0 : count;
}

const MatlabArray* MatlabArray::field(std::size_t element, std::string_view field_name) const {
  const auto found = std::ranges::find(fields, field_name);
  if (found == fields.end()) return nullptr;
  const std::size_t index = element * fields.size() + (found - fields.begin());
  return index < elements.size() ? &elements[index] : nullptr;
}

MatlabFile::MatlabFile(const std::filesystem::path& path)
    : name_(path.string()), storage_(std::make_shared<Storage>()) {
  storage_->file.emplace(path);
  parse(storage_->file->bytes());
}

MatlabFile::MatlabFile(std::span<const std::byte> bytes, std::string name)
    : name_(std::move(name)), storage_(std::make_shared<Storage>()) {
  parse(bytes);
}

void MatlabFile::parse(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("MATLAB 7.3") || text.starts_with("\x89HDF")) {
    throw DataError(fmt::format("{}: a MATLAB v7.3 file, which is not supported", name_),
                    "save it again in MATLAB with the option -v7");
  }
  if (text.size() < kHeaderBytes || text.substr(kHeaderBytes - 2, 2) != "IM") {
    throw DataError(fmt::format("{}: not a (little-endian) MATLAB v5 file", name_));
  }
  ElementReader reader(bytes.subspan(kHeaderBytes), name_);
  MatrixParser parser(name_);
  while (!reader.at_end()) {
    DataElement element = reader.next({kMatrix, kCompressed}, "an array");
    if (element.type == kCompressed) {
      const auto& data = storage_->inflated.emplace_back(inflate_all(element.bytes, name_));
      element = ElementReader(data, name_).next({kMatrix}, "a compressed array");
    }
    arrays_.push_back(parser.parse(element.bytes));
  }
}

const MatlabArray& MatlabFile::at(std::string_view array) const {
  const auto found = std::ranges::find(arrays_, array, &MatlabArray::name);
  if (found != arrays_.end()) return *found;
  std::vector<std::string> names;
  for (const auto& known : arrays_) names.push_back(known.name);
  throw DataError(
      fmt::format("{}: no array '{}' (there are: {})", name_, array, join(names, ", ")));
}

}  // namespace protogcd
