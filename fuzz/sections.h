// Several files as one input, each after a line with its name:
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
    const std::string name(input.substr(kSectionMark.size(), name_end - kSectionMark.size()));
    input.remove_prefix(std::min(name_end + 1, input.size()));
    const std::size_t next =
        input.starts_with(kSectionMark) ? 0 : input.find(std::string("\n").append(kSectionMark));
    const std::size_t end = next == 0 ? 0 : next == input.npos ? input.size() : next + 1;
    sections.push_back({name, std::string(input.substr(0, end))});
    input.remove_prefix(end);
  }
  return sections;
}

inline std::string join_sections(std::span<const Section> sections) {
  std::string text;
  for (const Section& section : sections) {
    text.append(kSectionMark).append(section.name).append("\n").append(section.content);
    if (!section.content.empty() && !section.content.ends_with('\n')) text += '\n';
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
