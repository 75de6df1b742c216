// Pickles, zip and tar archives, safetensors and TIFF directories, with sizes and sums that fit.
#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/tensor_entry.h"
#include "protogcd/core/zip_archive.h"

namespace protogcd::fuzz {
namespace {

using namespace std::string_view_literals;

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number{};
  if (offset < bytes.size())
    std::memcpy(&number, bytes.data() + offset, std::min(sizeof(number), bytes.size() - offset));
  return number;
}

template <class Number>
std::string bytes_of(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

// --- pickle ---

constexpr std::string_view kOpcodes[] = {"N",
                                         "\x88",
                                         "\x89",
                                         "K\x05",
                                         "M\x01\x02",
                                         "J\xff\xff\xff\xff",
                                         "\x8a\x03\x61\x62\xff",
                                         "\x8a\x00"sv,
                                         "G\x3f\xf0\x00\x00\x00\x00\x00\x00"sv,
                                         "U\x01\x61",
                                         "C\x01\x61",
                                         "T\x01\x00\x00\x00\x61"sv,
                                         "B\x01\x00\x00\x00\x61"sv,
                                         "X\x04\x00\x00\x00\x64\x61\x74\x61"sv,
                                         "\x8c\x01\x61",
                                         "\x8d\x01\x00\x00\x00\x00\x00\x00\x00\x61"sv,
                                         "\x8e\x01\x00\x00\x00\x00\x00\x00\x00\x61"sv,
                                         "(",
                                         "]",
                                         ")",
                                         "}",
                                         "l",
                                         "t",
                                         "d",
                                         "\x85",
                                         "\x86",
                                         "\x87",
                                         "a",
                                         "e",
                                         "s",
                                         "u",
                                         "0",
                                         "1",
                                         "q\x00"sv,
                                         "q\x01",
                                         "h\x00"sv,
                                         "h\x01",
                                         "r\x02\x00\x00\x00"sv,
                                         "j\x02\x00\x00\x00"sv,
                                         "\x94",
                                         "ccollections\nOrderedDict\n",
                                         "ctorch._utils\n_rebuild_tensor_v2\n",
                                         "ctorch._utils\n_rebuild_parameter\n",
                                         "ctorch\nHalfStorage\n",
                                         "cnumpy\nndarray\n",
                                         "\x93",
                                         "R",
                                         "\x81",
                                         "b",
                                         "Q",
                                         "\x80\x02",
                                         "\x95\x00\x00\x00\x00\x00\x00\x00\x00"sv};

std::size_t line_end(std::string_view bytes, std::size_t from) {
  return std::min(bytes.find('\n', from), bytes.size() - 1) + 1;
}

/// With its argument; more than there is where the file is cut off.
std::size_t opcode_size(std::string_view rest) {
  switch (rest.front()) {
    case 'K':
    case 'q':
    case 'h':
    case '\x80':
      return 2;
    case 'M':
      return 3;
    case 'J':
    case 'r':
    case 'j':
      return 5;
    case 'G':
    case '\x95':
      return 9;
    case 'U':
    case 'C':
    case '\x8a':
    case '\x8c':
      return 2 + number_at<std::uint8_t>(rest, 1);
    case 'T':
    case 'B':
    case 'X':
      return 5 + std::size_t{number_at<std::uint32_t>(rest, 1)};
    case '\x8d':
    case '\x8e':
      return 9 + std::min<std::uint64_t>(number_at<std::uint64_t>(rest, 1), rest.size());
    case 'c':
      return line_end(rest, line_end(rest, 1));
    default:
      return 1;
  }
}

std::vector<std::string> opcodes_of(std::string_view pickle) {
  std::vector<std::string> opcodes;
  while (!pickle.empty()) {
    opcodes.emplace_back(pickle.substr(0, opcode_size(pickle)));
    pickle.remove_prefix(opcodes.back().size());
  }
  return opcodes;
}

// --- zip ---

struct ZipRecord {
  std::string name, content;
};

std::string zip_of(std::span<const ZipRecord> records, bool is_zip64) {
  std::string file, directory;
  for (const auto& [name, content] : records) {
    const auto sum = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
    const auto size = static_cast<std::uint32_t>(content.size());
    const std::string wide = is_zip64
                                 ? bytes_of(std::uint16_t{1}) + bytes_of(std::uint16_t{16}) +
                                       bytes_of(std::uint64_t{size}) + bytes_of(std::uint64_t{size})
                                 : std::string();
    const auto described = [&](bool in_directory) {
      const std::uint32_t told = is_zip64 && in_directory ? 0xFFFFFFFF : size;
      return std::string(8, '\0') + bytes_of(sum) + bytes_of(told) + bytes_of(told) +
             bytes_of(static_cast<std::uint16_t>(name.size())) +
             bytes_of(static_cast<std::uint16_t>(in_directory ? wide.size() : 0));
    };
    directory += "PK\1\2\0\0\0\0"sv;
    directory += described(true) + std::string(10, '\0') +
                 bytes_of(static_cast<std::uint32_t>(file.size())) + name + wide;
    file += "PK\3\4\0\0"sv;
    file += described(false) + name + content;
  }
  const auto count = static_cast<std::uint16_t>(records.size());
  const std::uint64_t offset = file.size(), size = directory.size();
  file += directory;
  if (is_zip64) {
    const std::uint64_t end = file.size();
    file += "PK\6\6"sv;
    file += std::string(28, '\0') + bytes_of(std::uint64_t{count}) + bytes_of(size) +
            bytes_of(offset) + "PK\6\7" + std::string(4, '\0') + bytes_of(end) +
            std::string(4, '\0');
  }
  return file + "PK\5\6" + std::string(4, '\0') + bytes_of(count) + bytes_of(count) +
         bytes_of(static_cast<std::uint32_t>(size)) + bytes_of(static_cast<std::uint32_t>(offset)) +
         std::string(2, '\0');
}

std::vector<ZipRecord> zip_records(std::string_view input) {
  std::vector<ZipRecord> records;
  try {
    const ZipArchive archive(std::as_bytes(std::span(input)), "mutated");
    for (const auto& [name, record] : archive.records())
      records.push_back(
          {name, {reinterpret_cast<const char*>(record.bytes.data()), record.bytes.size()}});
  } catch (const Error&) {
    records.clear();
  }
  return records;
}

// --- safetensors ---

constexpr std::size_t kMostTensorBytes = 1 << 14;

/// Offsets one after another, as shapes and types ask; false where these are too large or none.
bool lay_out(nlohmann::ordered_json& header, std::size_t& end) {
  static const std::map<std::string, std::size_t> kSizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
      {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};
  end = 0;
  for (auto& [name, entry] : header.items()) {
    if (name == "__metadata__" || !entry.is_object()) continue;
    const auto type = entry.find("dtype"), shape = entry.find("shape");
    if (type == entry.end() || shape == entry.end() || !type->is_string() || !shape->is_array())
      continue;
    const auto size = kSizes.find(type->get<std::string>());
    if (size == kSizes.end()) continue;
    std::size_t bytes = size->second;
    for (const auto& side : *shape) {
      if (!side.is_number_unsigned() || side.get<std::size_t>() > kMostTensorBytes) return false;
      bytes = std::min(bytes * side.get<std::size_t>(), kMostTensorBytes + 1);
    }
    if (end + bytes > kMostTensorBytes) return false;
    entry["data_offsets"] = {end, end + bytes};
    end += bytes;
  }
  return true;
}

// --- tar ---

constexpr std::size_t kBlock = 512;

struct TarMember {
  std::string header, content;
};

std::vector<TarMember> tar_members(std::string_view input) {
  std::vector<TarMember> members;
  while (input.size() >= kBlock && input.front() != '\0') {
    TarMember member{.header = std::string(input.substr(0, kBlock)), .content = {}};
    input.remove_prefix(kBlock);
    const std::size_t size = std::strtoul(member.header.substr(124, 11).c_str(), nullptr, 8);
    member.content = input.substr(0, size);
    input.remove_prefix(std::min((size + kBlock - 1) / kBlock * kBlock, input.size()));
    members.push_back(std::move(member));
  }
  return members;
}

void put(std::string& header, std::size_t offset, std::size_t size, std::string_view text) {
  std::string field(text.substr(0, size));
  field.resize(size);
  header.replace(offset, size, field);
}

void change_header(std::string& header, Random& random) {
  constexpr std::string_view kNames[] = {"a/1.png",  "a/1.cls", "a/1.json",    "b.jpg", "b.cls",
                                         "no image", "",        "a.b.c/1.PNG", "1.heic"};
  constexpr std::string_view kTypes[] = {"0"sv, "\0"sv, "7"sv, "5"sv, "L"sv, "x"sv, "g"sv};
  switch (draw(random, 4)) {
    case 0:
      put(header, 0, 100, one_of(kNames, random));
      break;
    case 1:
      put(header, 156, 1, one_of(kTypes, random));
      break;
    case 2:
      put(header, 345, 155, one_of(kNames, random));
      break;
    default:
      header = mutate_bytes(header, random);
      header.resize(kBlock);
  }
}

std::string tar_of(std::span<const TarMember> members) {
  std::string file;
  for (auto [header, content] : members) {
    put(header, 124, 12, fmt::format("{:011o}", content.size()));
    put(header, 148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(header, 148, 8, fmt::format("{:06o}", sum));
    content.resize((content.size() + kBlock - 1) / kBlock * kBlock);
    file += header + content;
  }
  return file + std::string(2 * kBlock, '\0');
}

}  // namespace

std::string mutate_pickle(std::string_view input, Random& random) {
  std::vector<std::string> opcodes = opcodes_of(input);
  if (opcodes.empty()) return mutate_bytes(input, random);
  for (std::size_t changes = 1 + draw(random, 3); changes > 0 && !opcodes.empty(); --changes) {
    const std::size_t at = draw(random, opcodes.size());
    const auto place = opcodes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (draw(random, 5)) {
      case 0:
        opcodes.erase(place);
        break;
      case 1:
        opcodes.insert(place, std::string(opcodes[draw(random, opcodes.size())]));
        break;
      case 2:
        opcodes.insert(place, std::string(one_of(kOpcodes, random)));
        break;
      case 3:
        opcodes[at] = one_of(kOpcodes, random);
        break;
      default:
        opcodes[at] = opcodes[at].front() + mutate_bytes(opcodes[at].substr(1), random);
    }
  }
  std::string pickle;
  for (const std::string& opcode : opcodes) pickle += opcode;
  return pickle;
}

std::string mutate_pth(std::string_view input, Random& random) {
  std::vector<ZipRecord> records = zip_records(input);
  if (records.empty()) return mutate_bytes(input, random);
  auto& [name, content] = one_of(records, random);
  const auto pickle = std::ranges::find_if(
      records, [](const ZipRecord& record) { return record.name.ends_with("data.pkl"); });
  const std::size_t what = draw(random, 8);
  if (what == 0) {
    name = mutate_bytes(name, random).substr(0, 100);
  } else if (what == 1) {
    content = mutate_bytes(content, random);
  } else if (what == 2) {
    records.push_back({"archive/data/9", content});
  } else if (pickle != records.end()) {
    pickle->content = mutate_pickle(pickle->content, random);
  }
  return zip_of(records, draw(random, 8) == 0);
}

std::string mutate_safetensors(std::string_view input, Random& random) {
  constexpr std::size_t kLengthBytes = 8;
  const auto size = number_at<std::uint64_t>(input, 0);
  if (input.size() < kLengthBytes || size > input.size() - kLengthBytes)
    return mutate_bytes(input, random);
  std::string text(input.substr(kLengthBytes, size)), data(input.substr(kLengthBytes + size));
  if (draw(random, 4) == 0) {
    data = mutate_bytes(data, random);
  } else {
    text = mutate_json(text, random);
  }
  auto header = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (std::size_t end = 0; draw(random, 4) > 0 && header.is_object() && lay_out(header, end)) {
    text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    data.resize(end);
  }
  return bytes_of(std::uint64_t{text.size()}) + text + data;
}

std::string mutate_tar(std::string_view input, Random& random) {
  std::vector<TarMember> members = tar_members(input);
  if (members.empty()) return mutate_bytes(input, random);
  const std::size_t at = draw(random, members.size());
  const auto place = members.begin() + static_cast<std::ptrdiff_t>(at);
  switch (draw(random, 6)) {
    case 0:
      members.erase(place);
      break;
    case 1:
      members.insert(place, TarMember(members[draw(random, members.size())]));
      break;
    case 2:
      members[at].content = mutate_bytes(members[at].content, random);
      break;
    case 3:
      members[at].content = mutate_json(members[at].content, random);
      break;
    default:
      change_header(members[at].header, random);
  }
  return tar_of(members);
}

/// One entry of the first directory, and only of classic files: tag, type, count or value.
std::string mutate_tiff(std::string_view input, Random& random) {
  constexpr std::uint16_t kTags[] = {254, 256, 257, 258, 259, 262, 266, 273, 274, 277, 278,
                                     279, 284, 317, 320, 322, 323, 324, 325, 338, 339, 530};
  constexpr std::uint32_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 255, 32773, 0xFFFFFFFF};
  const bool is_big_endian = input.starts_with("MM");
  const auto put_number = [&](std::string& bytes, std::size_t offset, std::uint32_t number,
                              std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bytes[offset + (is_big_endian ? size - 1 - i : i)] = static_cast<char>(number >> (8 * i));
  };
  const auto read = [&](std::size_t offset, std::size_t size) {
    std::size_t number = 0;
    for (std::size_t i = 0; i < size && offset + i < input.size(); ++i) {
      const auto byte =
          static_cast<unsigned char>(input[offset + (is_big_endian ? i : size - 1 - i)]);
      number = number << 8 | byte;
    }
    return number;
  };
  const std::size_t directory = input.size() < 8 ? 0 : read(4, 4);
  if (directory < 8 || directory + 2 > input.size()) return mutate_bytes(input, random);
  const std::size_t count = std::min(read(directory, 2), (input.size() - directory - 2) / 12);
  if (count == 0) return mutate_bytes(input, random);
  std::string file(input);
  const std::size_t entry = directory + 2 + 12 * draw(random, count);
  const std::size_t value_bytes = read(entry + 2, 2) == 3 ? 2 : 4;
  switch (draw(random, 5)) {
    case 0:
      put_number(file, entry, one_of(kTags, random), 2);
      break;
    case 1:
      put_number(file, entry + 2, static_cast<std::uint32_t>(draw(random, 19)), 2);
      break;
    case 2:
      put_number(file, entry + 4, one_of(kNumbers, random), 4);
      break;
    default:
      put_number(file, entry + 8, one_of(kNumbers, random), value_bytes);
  }
  return file;
}

}  // namespace protogcd::fuzz
