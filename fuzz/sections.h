// Several files as one input, each between a line with its name and the end of a line before the
// next:
//
//   --- predictions.csv
//   path,class
#pragma once

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/scratch_folder.h"

namespace protogcd::fuzz {

inline constexpr std::string_view kSectionMark = "--- ";

struct Section {
  std::string name, content;
};

inline std::vector<Section> split_sections(std::string_view input) {
  std::vector<Section> sections;
  while (input.starts_with(kSectionMark)) {
    const std::size_t name_end = std::min(input.find('\n'), input.size());
    const std::size_t end =
        std::min(input.find(std::string("\n").append(kSectionMark), name_end), input.size());
    Section& section = sections.emplace_back();
    section.name = input.substr(kSectionMark.size(), name_end - kSectionMark.size());
    if (end > name_end) section.content = input.substr(name_end + 1, end - name_end - 1);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return sections;
}

inline std::string join_sections(std::span<const Section> sections) {
  std::string text;
  for (const Section& section : sections) {
    if (!text.empty()) text += '\n';
    text.append(kSectionMark).append(section.name).append("\n").append(section.content);
  }
  return text;
}

/// A folder with those of the input's files whose names are known; it goes with the object.
class SectionFolder {
 public:
  SectionFolder(const std::uint8_t* data, std::size_t size, std::span<const char* const> known) {
    for (const char* name : known) {
      const std::filesystem::path file = folder_ / name;
      std::filesystem::create_directories(file.parent_path());
    }
    for (const Section& section : split_sections({reinterpret_cast<const char*>(data), size})) {
      for (const char* name : known) {
        if (section.name == name)
          std::ofstream(folder_ / name, std::ios::binary) << section.content;
      }
    }
  }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  std::filesystem::path path() const { return folder_ / ""; }

 private:
  ScratchFolder folder_;
};

}  // namespace protogcd::fuzz
