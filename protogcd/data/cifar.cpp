#include "protogcd/data/cifar.h"

#include <fmt/core.h>

#include <array>

#include "protogcd/core/error.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/pickle.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr int kSide = 32;
constexpr std::size_t kPlane = std::size_t{kSide} * kSide;
constexpr std::size_t kPixels = 3 * kPlane;

struct Distribution {
  std::string_view folder;
  bool python;
  std::vector<std::string_view> train, test;
  std::string_view names_file, names_key;
};

const std::array<Distribution, 2>& distributions(CifarKind kind) {
  static const std::array<Distribution, 2> kCifar10 = {
      {{"cifar-10-batches-py",
        true,
        {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
        {"test_batch"},
        "batches.meta",
        "label_names"},
       {"cifar-10-batches-bin",
        false,
        {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
         "data_batch_5.bin"},
        {"test_batch.bin"},
        "batches.meta.txt",
        ""}}};
  static const std::array<Distribution, 2> kCifar100 = {
      {{"cifar-100-python", true, {"train"}, {"test"}, "meta", "fine_label_names"},
       {"cifar-100-binary", false, {"train.bin"}, {"test.bin"}, "fine_label_names.txt", ""}}};
  return kind == CifarKind::kCifar10 ? kCifar10 : kCifar100;
}

int class_count(CifarKind kind) {
  return kind == CifarKind::kCifar10 ? 10 : 100;
}

constexpr std::array<std::string_view, 3> kNumpyGlobals = {"numpy.core.multiarray._reconstruct",
                                                           "numpy.ndarray", "numpy.dtype"};

RecordFile planes_of(const fs::path& path, std::span<const std::byte> bytes) {
  RecordFile file;
  file.path = path;
  file.bytes = bytes;
  file.width = file.height = kSide;
  file.record_stride = kPixels;
  file.channel_stride = kPlane;
  file.row_stride = kSide;
  file.column_stride = 1;
  return file;
}

void check_label(const RecordFile& file, std::size_t record, std::int64_t label, int classes) {
  if (label >= 0 && label < classes) return;
  throw DataError(fmt::format("{}: record {} has label {}, expected 0 to {}", file.path.string(),
                              record, label, classes - 1));
}

/// Takes numpy's pickled array apart: state = (version, shape, dtype, is_fortran, bytes).
void read_numpy_pixels(const PickleValue* data, RecordFile& file) {
  using Kind = PickleValue::Kind;
  const auto fail = [&](std::string_view reason) {
    throw DataError(fmt::format("{}: entry 'data': {}", file.path.string(), reason));
  };
  if (data == nullptr) fail("is missing");
  if (!data->is(Kind::kObject) || data->text != kNumpyGlobals[0] || data->state == nullptr ||
      !data->state->is(Kind::kTuple) || data->state->items.size() != 5) {
    fail("is not a numpy array");
  }
  const auto& state = data->state->items;
  const PickleValue &shape = *state[1], &type = *state[2], &pixels = *state[4];
  if (!shape.is(Kind::kTuple) || shape.items.size() != 2 || !shape.items[0]->is(Kind::kInteger) ||
      !shape.items[1]->is(Kind::kInteger)) {
    fail("has no two dimensions");
  }
  const std::int64_t rows = shape.items[0]->integer;
  if (shape.items[1]->integer != static_cast<std::int64_t>(kPixels))
    fail("rows are not 3,072 long");
  const PickleValue* arguments = type.arguments;
  if (!type.is(Kind::kObject) || type.text != "numpy.dtype" || arguments->items.empty() ||
      !arguments->items[0]->is_string() || arguments->items[0]->text != "u1") {
    fail("is not of type uint8");
  }
  if (!pixels.is(Kind::kBytes) || rows < 0 ||
      static_cast<std::uint64_t>(rows) != pixels.text.size() / kPixels ||
      pixels.text.size() % kPixels != 0) {
    fail("does not hold as many bytes as its shape needs");
  }
  file.bytes = std::as_bytes(std::span(pixels.text));
  file.count = static_cast<std::size_t>(rows);
  if (state[3]->integer != 0) {  // Fortran order: the records' bytes are interleaved
    file.record_stride = 1;
    file.channel_stride = kPlane * file.count;
    file.row_stride = kSide * file.count;
    file.column_stride = file.count;
  }
}

std::shared_ptr<const RecordFile> open_batch(const fs::path& path, bool python, CifarKind kind) {
  auto mapped = std::make_shared<MappedFile>(path);
  auto file =
      std::make_shared<RecordFile>(python ? parse_cifar_python(mapped->bytes(), path, kind)
                                          : parse_cifar_binary(mapped->bytes(), path, kind));
  file->owner = mapped;
  return file;
}

/// Class names where the distribution has them; made-up ones otherwise.
std::vector<std::string> read_class_names(const fs::path& folder, const Distribution& layout,
                                          CifarKind kind) {
  const auto wanted = static_cast<std::size_t>(class_count(kind));
  std::vector<std::string> names;
  const fs::path path = folder / layout.names_file;
  std::error_code error;
  if (fs::exists(path, error)) {
    const MappedFile file(path);
    if (layout.python) {
      const PickleDocument document(file.text(), path.string(), {.allowed_globals = kNumpyGlobals});
      const PickleValue* list = document.root().find(layout.names_key);
      if (list != nullptr && list->is(PickleValue::Kind::kList)) {
        for (const auto* item : list->items) names.emplace_back(item->text);
      }
    } else {
      for (const auto& line : split(file.text(), '\n')) {
        if (!trim(line).empty()) names.emplace_back(trim(line));
      }
    }
    if (names.size() != wanted) {
      throw DataError(
          fmt::format("{}: {} class names, expected {}", path.string(), names.size(), wanted));
    }
    return names;
  }
  for (std::size_t i = 0; i < wanted; ++i) names.push_back(fmt::format("class-{:02}", i));
  return names;
}

/// The distribution's folder below (or at) root; DataError lists what was looked for.
std::pair<const Distribution*, fs::path> find_distribution(const fs::path& root, CifarKind kind,
                                                           bool test_only) {
  std::error_code error;
  std::string expected;
  for (const auto& layout : distributions(kind)) {
    const auto& wanted = test_only ? layout.test : layout.train;
    for (const fs::path& folder : {root / layout.folder, root}) {
      for (const auto& name : wanted) {
        if (fs::is_regular_file(folder / name, error)) return {&layout, folder};
      }
    }
    std::vector<std::string> names(wanted.begin(), wanted.end());
    expected += fmt::format("\n  {}/{{{}}}", (root / layout.folder).string(), join(names, ","));
  }
  throw DataError(fmt::format("{}: no CIFAR-{} here; expected the files of one of{}", root.string(),
                              class_count(kind), expected));
}

RecordFiles open_all(const fs::path& folder, const Distribution& layout,
                     const std::vector<std::string_view>& names, CifarKind kind) {
  std::error_code error;
  std::vector<std::string> missing;
  for (const auto& name : names) {
    if (!fs::is_regular_file(folder / name, error)) missing.emplace_back(name);
  }
  if (!missing.empty()) {
    const std::vector<std::string> all(names.begin(), names.end());
    throw DataError(fmt::format("{}: missing {}; expected all of {} in this folder",
                                folder.string(), join(missing, ", "), join(all, ", ")));
  }
  RecordFiles files;
  for (const auto& name : names) files.push_back(open_batch(folder / name, layout.python, kind));
  return files;
}

}  // namespace

RecordFile parse_cifar_binary(std::span<const std::byte> bytes, const fs::path& path,
                              CifarKind kind) {
  const std::size_t label_bytes = kind == CifarKind::kCifar10 ? 1 : 2;  // 100: coarse, then fine
  RecordFile file = planes_of(path, bytes);
  file.first = label_bytes;
  file.record_stride = label_bytes + kPixels;
  if (bytes.empty() || bytes.size() % file.record_stride != 0) {
    throw DataError(fmt::format("{}: {} bytes are not a whole number of {}-byte records",
                                path.string(), bytes.size(), file.record_stride));
  }
  file.count = bytes.size() / file.record_stride;
  for (std::size_t i = 0; i < file.count; ++i) {
    const auto label =
        std::to_integer<std::int32_t>(bytes[i * file.record_stride + label_bytes - 1]);
    check_label(file, i, label, class_count(kind));
    file.labels.push_back(label);
  }
  file.check();
  return file;
}

RecordFile parse_cifar_python(std::span<const std::byte> bytes, const fs::path& path,
                              CifarKind kind) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const PickleDocument document(text, path.string(), {.allowed_globals = kNumpyGlobals});
  RecordFile file = planes_of(path, {});
  read_numpy_pixels(document.root().find("data"), file);
  const std::string_view key = kind == CifarKind::kCifar10 ? "labels" : "fine_labels";
  const PickleValue* labels = document.root().find(key);
  if (labels == nullptr || !labels->is(PickleValue::Kind::kList)) {
    throw DataError(fmt::format("{}: no list '{}'", path.string(), key));
  }
  for (const PickleValue* label : labels->items) {
    const bool whole = label->is(PickleValue::Kind::kInteger);
    check_label(file, file.labels.size(), whole ? label->integer : -1, class_count(kind));
    file.labels.push_back(static_cast<std::int32_t>(label->integer));
  }
  file.check();
  return file;
}

CifarFiles open_cifar(const fs::path& root, CifarKind kind) {
  const auto [layout, folder] = find_distribution(root, kind, false);
  CifarFiles files;
  files.train = open_all(folder, *layout, layout->train, kind);
  std::error_code error;
  if (fs::exists(folder / layout->test.front(), error)) {
    files.test = open_all(folder, *layout, layout->test, kind);
  }
  files.class_names = read_class_names(folder, *layout, kind);
  return files;
}

CifarFiles open_cifar_test(const fs::path& root, CifarKind kind) {
  const auto [layout, folder] = find_distribution(root, kind, true);
  return {.train = {},
          .test = open_all(folder, *layout, layout->test, kind),
          .class_names = read_class_names(folder, *layout, kind)};
}

}  // namespace protogcd
