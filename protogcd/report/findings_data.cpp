#include "protogcd/report/findings_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "protogcd/core/json.h"
#include "protogcd/report/sprites.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kShownOfKind = 36;

/// Where a click leads: to the file, if there is one. A box or a record has none of its own.
std::string file_link(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  std::string link = "file://";
  for (const char letter : fs::absolute(file).lexically_normal().string()) {
    const bool plain = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z') ||
                       std::string_view("/-._~").find(letter) != std::string_view::npos;
    link +=
        plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return link;
}

/// Near-duplicates that matter most come first: two classes for one picture, then a label for an
/// unlabelled image.
int rank(const Finding& one) {
  if (one.kind != FindingKind::kNearDuplicate) return 0;
  if (!one.class_name.empty() && !one.other_class.empty() && one.class_name != one.other_class)
    return 0;
  return one.class_name.empty() != one.other_class.empty() ? 1 : 2;
}

/// The images that are shown, each once.
class ShownImages {
 public:
  std::size_t place_of(const std::string& path) {
    const auto [found, is_new] = places_.try_emplace(path, paths_.size());
    if (is_new) paths_.push_back(path);
    return found->second;
  }
  Json to_json(const RunContents& run, const Context& context) const {
    std::vector<fs::path> files;
    for (const std::string& path : paths_) files.push_back((run.folder / path).lexically_normal());
    files = locate_images(files, run.images_root).files;
    Json links = Json::array();
    for (const fs::path& file : files) links.push_back(file_link(file));
    const Sprites sprites = make_sprites(files, context);
    return {{"path", paths_},
            {"link", links},
            {"thumbnail", sprites.places},
            {"sprites", sprites_data(sprites)}};
  }

 private:
  std::vector<std::string> paths_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace

Json findings_data(const RunContents& run, const RunResult& result, const Context& context) {
  const fs::path file = run.folder / run_files::kFindings;
  if (!result.findings || !fs::exists(file)) return nullptr;
  std::vector<Finding> findings = read_findings(file);
  std::ranges::stable_sort(findings, {}, rank);
  ShownImages images;
  Json kinds = Json::array();
  for (const FindingKind kind : kFindingKinds) {
    Json shown = Json::array();
    std::size_t count = 0;
    for (const Finding& one : findings) {
      if (one.kind != kind || ++count > kShownOfKind) continue;
      Json entry = {{"image", images.place_of(one.path)},
                    {"set", one.set},
                    {"class", one.class_name},
                    {"score", one.score}};
      if (kind == FindingKind::kNearDuplicate) {
        entry["repeats"] = images.place_of(one.other);
        entry["other_class"] = one.other_class;
      } else {
        entry["other_class"] = one.other;
      }
      shown.push_back(std::move(entry));
    }
    kinds.push_back({{"kind", name_of(kind)}, {"count", count}, {"shown", shown}});
  }
  return {{"kinds", kinds},
          {"unchecked", {result.findings->labels_unchecked, result.findings->duplicates_unchecked}},
          {"images", images.to_json(run, context)}};
}

}  // namespace protogcd
