#include "protogcd/core/weight_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "protogcd/core/error.h"
#include "protogcd/core/mapped_file.h"
#include "protogcd/core/pth_file.h"
#include "protogcd/core/safetensors.h"

namespace protogcd {
namespace {

using namespace std::string_view_literals;

constexpr auto kLegacyMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::size_t kSniffed = 256;

struct ForeignFile {
  std::string what;
  std::string hint;
};

bool is_text(std::string_view start) {
  return std::ranges::all_of(start, [](unsigned char letter) {
    return std::isprint(letter) != 0 || std::isspace(letter) != 0 || letter >= 0x80;
  });
}

/// What a file is that begins so and is neither safetensors nor a zip file. A safetensors file
/// begins with a length below 100 MB in 8 bytes, of which the last four are zero: never text.
ForeignFile describe_foreign(std::string_view start) {
  std::string lower(start);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::size_t first = std::min(lower.find_first_not_of(" \t\r\n\xef\xbb\xbf"), lower.size());
  const std::string_view visible = std::string_view(lower).substr(first);
  if (start.empty()) return {"is empty", "the download or the copy did not finish"};
  if (visible.starts_with("<!doctype") || visible.starts_with("<html") ||
      visible.starts_with("<?xml")) {
    return {"is a web page, not a weight file",
            "download the file itself: the link leads to a page about it or to an error"};
  }
  if (visible.starts_with("version https://git-lfs")) {
    return {"is a git-lfs pointer, not the weight file itself",
            "fetch the content with `git lfs pull`, or download the file from its page"};
  }
  const auto after = [&](std::size_t count) { return start.substr(std::min(count, start.size())); };
  if (start.starts_with('\x80') && after(2).starts_with(kLegacyMagic)) {
    return {"is in the format of PyTorch before 1.6, which is not read",
            "re-save it with a newer torch: python -c \"import torch; "
            "torch.save(torch.load('OLD.pth', map_location='cpu'), 'NEW.pth')\""};
  }
  // A safetensors header of 128, 384, ... bytes begins so too, but then it follows after 8 bytes.
  if (start.starts_with('\x80') && !after(4).starts_with("\0\0\0\0{"sv)) {
    return {"is a Python pickle, not a weight file",
            "save the model's state_dict() with torch.save or safetensors"};
  }
  if (is_text(start)) return {"is text, not a weight file", "it may hold an error of the server"};
  return {};
}

template <class File>
WeightFile weight_file_of(WeightFormat format, MappedFile mapped) {
  const auto file = std::make_shared<const File>(std::move(mapped));
  WeightFile result{.format = format, .entries = file->entries(), .metadata = {}, .owner = file};
  if constexpr (requires { file->metadata(); }) result.metadata = file->metadata();
  return result;
}

}  // namespace

std::string_view weight_format_name(WeightFormat format) {
  return format == WeightFormat::kPytorch ? "PyTorch" : "safetensors";
}

WeightFile open_weight_file(const std::filesystem::path& path) {
  MappedFile file(path);
  if (PthFile::looks_like_one(file.bytes())) {
    return weight_file_of<PthFile>(WeightFormat::kPytorch, std::move(file));
  }
  const ForeignFile foreign = describe_foreign(file.text().substr(0, kSniffed));
  if (!foreign.what.empty()) {
    throw ModelFileError(fmt::format("{}: {}", path.string(), foreign.what), foreign.hint);
  }
  return weight_file_of<SafetensorsFile>(WeightFormat::kSafetensors, std::move(file));
}

}  // namespace protogcd
