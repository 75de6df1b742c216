#include "protogcd/core/pickle.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>

namespace protogcd {

using Kind = PickleValue::Kind;

const PickleValue* PickleValue::find(std::string_view key) const {
  if (kind != Kind::kDict && kind != Kind::kObject) return nullptr;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->is_string() && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

std::string_view pickle_kind_name(Kind kind) {
  constexpr std::string_view kNames[] = {"None", "bool",  "int",  "float",  "bytes",  "str",
                                         "list", "tuple", "dict", "global", "object", "storage"};
  return kNames[static_cast<int>(kind)];
}

/// The stack machine. Every operand is checked before use; what it builds lives in the document.
class PickleReader {
 public:
  PickleReader(PickleDocument& document, std::string_view bytes, const std::string& name,
               const PickleOptions& options)
      : document_(document), bytes_(bytes), name_(name), options_(options) {}

  void read() {
    while (step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) fail("the end mark comes too early");
    document_.root_ = stack_.front();
    document_.size_ = position_;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    const std::string message = fmt::format("{}: pickle at offset {}: {}", name_, start_, reason);
    if (options_.error_kind == ErrorKind::kModelFile) throw ModelFileError(message);
    throw DataError(message);
  }

  // --- input ---
  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) fail(fmt::format("{} bytes are missing", count));
    const auto taken = bytes_.substr(position_, count);
    position_ += count;
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("a name is cut short");
    const auto text = bytes_.substr(position_, end - position_);
    position_ = end + 1;
    return text;
  }

  // --- stack ---
  PickleValue& push(Kind kind) {
    if (document_.values_.size() >= options_.most_values) fail("too many values");
    PickleValue& value = document_.values_.emplace_back();
    value.kind = kind;
    stack_.push_back(&value);
    return value;
  }
  void push_integer(std::int64_t integer, Kind kind = Kind::kInteger) {
    push(kind).integer = integer;
  }
  void push_string(Kind kind, std::uint64_t count) {
    const auto text = take(count);
    push(kind).text = text;
  }
  /// How many values the innermost mark lets us pop.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* pop() {
    if (stack_.size() <= floor()) fail("the stack is empty");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue* pop(Kind kind) {
    PickleValue* value = pop();
    if (!value->is(kind)) {
      fail(fmt::format("expected {}, found {}", pickle_kind_name(kind),
                       pickle_kind_name(value->kind)));
    }
    return value;
  }
  PickleValue& top() {
    if (stack_.size() <= floor()) fail("the stack is empty");
    return *stack_.back();
  }
  void mark() {
    if (marks_.size() >= options_.most_open_marks) fail("nested too deeply");
    marks_.push_back(stack_.size());
  }
  std::vector<const PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("no mark");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<const PickleValue*> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return values;
  }

  // --- composite values ---
  void push_sequence(Kind kind, std::vector<const PickleValue*> items) {
    push(kind).items = std::move(items);
  }
  void push_small_tuple(std::size_t count) {
    std::vector<const PickleValue*> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push_sequence(Kind::kTuple, std::move(items));
  }
  void append(const std::vector<const PickleValue*>& added) {
    if (!top().is(Kind::kList)) fail("appends to something that is no list");
    top().items.insert(top().items.end(), added.begin(), added.end());
  }
  void set_items(const std::vector<const PickleValue*>& added) {
    if (!top().is(Kind::kDict) && !top().is(Kind::kObject)) fail("sets keys of what is no dict");
    if (added.size() % 2 != 0) fail("a key without a value");
    top().items.insert(top().items.end(), added.begin(), added.end());
  }
  void push_global(std::string_view module, std::string_view name) {
    std::string full = fmt::format("{}.{}", module, name);
    const auto known = std::ranges::find(options_.allowed_globals, full);
    if (known == options_.allowed_globals.end()) {
      fail(fmt::format("refused: names '{}', which is not on the list of known types",
                       full.substr(0, 200)));
    }
    // Views into the input would not be one text; the caller's list may not outlive the document.
    const auto kept = std::ranges::find(document_.names_, full);
    push(Kind::kGlobal).text =
        kept != document_.names_.end() ? *kept : document_.names_.emplace_back(std::move(full));
  }
  void call() {
    const PickleValue* arguments = pop(Kind::kTuple);
    const PickleValue* function = pop(Kind::kGlobal);
    PickleValue& object = push(Kind::kObject);
    object.text = function->text;
    object.arguments = arguments;
  }
  void build() {
    const PickleValue* state = pop();
    if (!top().is(Kind::kObject)) fail("gives a state to what is no object");
    if (top().state != nullptr) fail("gives a second state to an object");
    top().state = state;
  }
  void remember(std::size_t index) {
    if (memo_.size() >= options_.most_values) fail("too many memo entries");
    memo_[index] = &top();
  }
  void recall(std::size_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) fail(fmt::format("memo entry {} does not exist", index));
    if (stack_.size() >= options_.most_values) fail("too many values");
    stack_.push_back(found->second);
  }
  void push_long(std::size_t count) {
    if (count > sizeof(std::int64_t)) fail("an integer of more than 64 bits");
    const auto digits = take(count);
    std::uint64_t value = 0;
    std::memcpy(&value, digits.data(), count);
    if (count > 0 && count < 8 && (digits.back() & 0x80) != 0)
      value |= ~std::uint64_t{0} << (8 * count);
    push_integer(static_cast<std::int64_t>(value));
  }
  void push_real() {
    auto bits = number<std::uint64_t>();  // the one big-endian number of the format
    bits = __builtin_bswap64(bits);
    push(Kind::kReal).real = std::bit_cast<double>(bits);
  }

  /// One opcode; false at the end mark.
  bool step() {
    start_ = position_;
    const auto code = static_cast<unsigned char>(take(1).front());
    if (code == '.') return false;
    if (scalar(code) || container(code) || reference(code)) return true;
    fail(fmt::format("opcode 0x{:02x} is not supported", code));
  }

  bool scalar(unsigned char code) {
    switch (code) {
      case 0x80:  // PROTO
        if (const auto protocol = number<std::uint8_t>(); protocol > 5) {
          fail(fmt::format("protocol {} is unknown", protocol));
        }
        return true;
      case 0x95:  // FRAME: a hint for readers of streams
        if (number<std::uint64_t>() > bytes_.size() - position_) fail("a frame is cut short");
        return true;
      case 'N':
        push(Kind::kNone);
        return true;
      case 0x88:
      case 0x89:
        push_integer(code == 0x88 ? 1 : 0, Kind::kBool);
        return true;
      case 'K':
        push_integer(number<std::uint8_t>());
        return true;
      case 'M':
        push_integer(number<std::uint16_t>());
        return true;
      case 'J':
        push_integer(number<std::int32_t>());
        return true;
      case 0x8a:
        push_long(number<std::uint8_t>());
        return true;
      case 'G':
        push_real();
        return true;
      default:
        return string(code);
    }
  }

  bool string(unsigned char code) {
    switch (code) {
      case 'U':  // SHORT_BINSTRING
      case 'C':  // SHORT_BINBYTES
        push_string(Kind::kBytes, number<std::uint8_t>());
        return true;
      case 'T':  // BINSTRING: its length is signed, a negative one is too large below
      case 'B':  // BINBYTES
        push_string(Kind::kBytes, number<std::uint32_t>());
        return true;
      case 0x8e:  // BINBYTES8
        push_string(Kind::kBytes, number<std::uint64_t>());
        return true;
      case 0x8c:  // SHORT_BINUNICODE
        push_string(Kind::kText, number<std::uint8_t>());
        return true;
      case 'X':  // BINUNICODE
        push_string(Kind::kText, number<std::uint32_t>());
        return true;
      case 0x8d:  // BINUNICODE8
        push_string(Kind::kText, number<std::uint64_t>());
        return true;
      default:
        return false;
    }
  }

  bool container(unsigned char code) {
    switch (code) {
      case '(':
        mark();
        return true;
      case ']':
        push(Kind::kList);
        return true;
      case ')':
        push(Kind::kTuple);
        return true;
      case '}':
        push(Kind::kDict);
        return true;
      case 'l':
        push_sequence(Kind::kList, pop_to_mark());
        return true;
      case 't':
        push_sequence(Kind::kTuple, pop_to_mark());
        return true;
      case 'd': {
        const auto added = pop_to_mark();
        push(Kind::kDict);
        set_items(added);
        return true;
      }
      case 0x85:
      case 0x86:
      case 0x87:
        push_small_tuple(code - 0x84u);
        return true;
      case 'a':
        append({pop()});
        return true;
      case 'e':
        append(pop_to_mark());
        return true;
      case 's': {
        const PickleValue* value = pop();
        const PickleValue* key = pop();
        set_items({key, value});
        return true;
      }
      case 'u':
        set_items(pop_to_mark());
        return true;
      default:
        return false;
    }
  }

  bool reference(unsigned char code) {
    switch (code) {
      case '0':
        pop();
        return true;
      case '1':
        pop_to_mark();
        return true;
      case 'q':
        remember(number<std::uint8_t>());
        return true;
      case 'r':
        remember(number<std::uint32_t>());
        return true;
      case 0x94:  // MEMOIZE
        remember(memo_.size());
        return true;
      case 'h':
        recall(number<std::uint8_t>());
        return true;
      case 'j':
        recall(number<std::uint32_t>());
        return true;
      case 'c': {
        const auto module = line();
        push_global(module, line());
        return true;
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue* name = pop(Kind::kText);
        push_global(pop(Kind::kText)->text, name->text);
        return true;
      }
      case 'R':   // REDUCE
      case 0x81:  // NEWOBJ
        call();
        return true;
      case 'b':
        build();
        return true;
      case 'Q': {  // BINPERSID
        const PickleValue* id = pop();
        push(Kind::kPersistent).arguments = id;
        return true;
      }
      default:
        return false;
    }
  }

  PickleDocument& document_;
  std::string_view bytes_;
  const std::string& name_;
  const PickleOptions& options_;
  std::size_t position_ = 0, start_ = 0;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::size_t, PickleValue*> memo_;
};

PickleDocument::PickleDocument(std::string_view bytes, const std::string& name,
                               const PickleOptions& options) {
  PickleReader(*this, bytes, name, options).read();
}

}  // namespace protogcd
