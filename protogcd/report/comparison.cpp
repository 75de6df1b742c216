#include "protogcd/report/comparison.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "protogcd/analysis/accuracy.h"
#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/data/source_table.h"
#include "protogcd/report/base64.h"
#include "protogcd/report/sprites.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// Names of classes, sorted, and the number of each.
class ClassNames {
 public:
  explicit ClassNames(const PredictionsTable& table) {
    std::map<std::string, std::int32_t> sorted;
    for (std::size_t i = 0; i < table.size(); ++i) sorted.try_emplace(table.class_name(i), 0);
    for (auto& [name, number] : sorted) {
      number = static_cast<std::int32_t>(names_.size());
      names_.push_back(name);
    }
    numbers_ = std::move(sorted);
  }
  std::int32_t number(const std::string& name) const { return numbers_.at(name); }
  const std::string& name(std::size_t number) const { return names_[number]; }
  std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t> numbers_;
};

struct ComparedRun {
  explicit ComparedRun(const fs::path& run)
      : file(fs::is_directory(run) ? run / run_files::kPredictions : run),
        table(PredictionsTable::read(file)),
        names(table) {}

  std::string path(std::size_t row) const {
    return comparable_path(file.parent_path() / table.path(row));
  }
  /// Rows by their images.
  std::unordered_map<std::string, std::size_t> rows() const {
    std::unordered_map<std::string, std::size_t> rows;
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (!rows.emplace(path(i), i).second)
        throw DataError(fmt::format("{}: '{}' was listed before", table.where(i), table.path(i)));
    }
    return rows;
  }

  fs::path file;
  PredictionsTable table;
  ClassNames names;
};

std::vector<MatchedClasses> matched_classes(const Confusion& confusion,
                                            const ClusterMapping& mapping, const ComparedRun& one,
                                            const ComparedRun& other) {
  const auto sizes_first = confusion.cluster_sizes(), sizes_second = confusion.class_sizes();
  std::vector<MatchedClasses> classes;
  for (std::size_t i = 0; i < sizes_first.size(); ++i) {
    if (sizes_first[i] == 0) continue;
    MatchedClasses& found = classes.emplace_back(
        MatchedClasses{.first = one.names.name(i), .images_first = sizes_first[i]});
    if (mapping.class_of_cluster[i] < 0) continue;
    const auto second = static_cast<std::size_t>(mapping.class_of_cluster[i]);
    found.second = other.names.name(second);
    found.images_second = sizes_second[second];
    found.both = confusion.count(i, second);
  }
  std::ranges::stable_sort(classes, std::greater(), &MatchedClasses::images_first);
  for (std::size_t i = 0; i < sizes_second.size(); ++i) {
    if (sizes_second[i] > 0 && mapping.cluster_of_class[i] < 0)
      classes.push_back({.second = other.names.name(i), .images_second = sizes_second[i]});
  }
  return classes;
}

/// Pairs of classes by how many images they are of, then by name; images of a pair by path.
void sort_by_pairs(std::vector<DifferingImage>& images) {
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const DifferingImage& image : images) ++counts[{image.first, image.second}];
  std::ranges::sort(images, {}, [&](const DifferingImage& image) {
    return std::tuple(-counts.at({image.first, image.second}), image.first, image.second,
                      image.path);
  });
}

std::string escaped(const std::string& text) {
  std::string html;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      default:
        html += letter;
    }
  }
  return html;
}

std::string class_rows(const RunComparison& comparison) {
  std::string rows;
  for (const MatchedClasses& found : comparison.classes) {
    rows += fmt::format(
        "<tr><td>{}<td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{:.1f}%</tr>\n",
        found.first.empty() ? "-" : escaped(found.first),
        found.second.empty() ? "-" : escaped(found.second), found.images_first, found.images_second,
        found.both, 100 * found.agreement());
  }
  return rows;
}

/// The images that differ, under a heading for each pair of classes.
std::string thumbnails(const std::vector<DifferingImage>& images, const Sprites& sprites) {
  std::string html;
  for (std::size_t begin = 0, end = 0; begin < images.size(); begin = end) {
    const DifferingImage& head = images[begin];
    while (end < images.size() && images[end].first == head.first &&
           images[end].second == head.second)
      ++end;
    html += fmt::format("<h3>{} &rarr; {} <small>{}</small></h3>\n<div>", escaped(head.first),
                        escaped(head.second), end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t place = sprites.places[i];
      std::string where;
      if (place >= 0) {
        const std::size_t sheet = static_cast<std::size_t>(place) / sprites.per_sheet;
        const auto tile = static_cast<int>(static_cast<std::size_t>(place) % sprites.per_sheet);
        where = fmt::format(" class=s{} style=\"background-position:-{}px -{}px\"", sheet,
                            tile % sprites.columns * sprites.tile,
                            tile / sprites.columns * sprites.tile);
      }
      html += fmt::format("<i{} title=\"{}\"></i>", where, escaped(images[i].path));
    }
    html += "</div>\n";
  }
  return html;
}

}  // namespace

double MatchedClasses::agreement() const {
  const std::int64_t either = images_first + images_second - both;
  return either == 0 ? 0 : static_cast<double>(both) / static_cast<double>(either);
}

RunComparison compare_runs(const fs::path& first, const fs::path& second) {
  const ComparedRun one(first), other(second);
  const auto rows = other.rows();
  RunComparison comparison;
  std::vector<std::int32_t> labels, other_labels;
  std::vector<std::string> paths;
  for (const auto& [path, row] : one.rows()) {
    const auto found = rows.find(path);
    if (found == rows.end()) continue;
    labels.push_back(one.names.number(one.table.class_name(row)));
    other_labels.push_back(other.names.number(other.table.class_name(found->second)));
    paths.push_back(path);
  }
  if (paths.empty()) {
    throw DataError(
        fmt::format("{} and {} have no image in common", one.table.name(), other.table.name()),
        "two runs are compared by the images that both predicted, wherever these are "
        "the same files");
  }
  comparison.images = std::ssize(paths);
  comparison.only_first = static_cast<std::int64_t>(one.table.size()) - comparison.images;
  comparison.only_second = static_cast<std::int64_t>(other.table.size()) - comparison.images;
  const Confusion confusion(labels, other_labels);
  const ClusterMapping mapping = match_clusters(confusion);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (mapping.class_of_cluster[label] == other_labels[i]) {
      ++comparison.agreeing;
    } else {
      comparison.differing.push_back({paths[i], one.names.name(label),
                                      other.names.name(static_cast<std::size_t>(other_labels[i]))});
    }
  }
  comparison.nmi = normalized_mutual_information(confusion);
  comparison.ari = adjusted_rand_index(confusion);
  comparison.classes = matched_classes(confusion, mapping, one, other);
  sort_by_pairs(comparison.differing);
  return comparison;
}

void write_differences(const RunComparison& comparison, const fs::path& csv) {
  CsvWriter writer(csv, {"path", "class_1", "class_2"});
  const fs::path base = fs::path(comparable_path(csv)).parent_path();
  for (const DifferingImage& image : comparison.differing) {
    writer.row({fs::path(image.path).lexically_proximate(base).generic_string(), image.first,
                image.second});
  }
  writer.commit();
}

void write_comparison_page(const RunComparison& comparison, const std::string& first,
                           const std::string& second, const fs::path& page,
                           const Context& context) {
  std::vector<fs::path> files;
  for (const DifferingImage& image : comparison.differing) files.emplace_back(image.path);
  const Sprites sprites = make_sprites(files, context);
  AtomicFile file(page);
  // Nothing in it runs and nothing is fetched, whatever a name may be.
  file.write(fmt::format(
      "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<title>{0} and {1}</title>\n<style>\n"
      "body{{font:15px/1.4 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}}\n"
      "table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;text-align:left;"
      "border-bottom:1px solid #ddd}}.n{{text-align:right}}small{{color:#666}}\n"
      "i{{display:inline-block;width:{2}px;height:{2}px;margin:1px;background-color:#ddd}}\n",
      escaped(first), escaped(second), sprites.tile));
  for (std::size_t i = 0; i < sprites.sheets.size(); ++i) {
    file.write(fmt::format(".s{}{{background-image:url(data:image/jpeg;base64,{})}}\n", i,
                           base64(sprites.sheets[i])));
  }
  file.write(fmt::format(
      "</style>\n<h1>{} and {}</h1>\n<p>They agree on {} of {} images ({:.1f}%) after their "
      "classes are matched one to one; NMI {:.3f}, ARI {:.3f}. {} images are in the first run "
      "alone, {} in the second.</p>\n<h2>Classes that stand for each other</h2>\n<table>\n"
      "<tr><th>{}<th>{}<th>images<th>images<th>both<th>agreement</tr>\n{}</table>\n"
      "<h2>{} images differ</h2>\n{}</html>\n",
      escaped(first), escaped(second), comparison.agreeing, comparison.images,
      100 * comparison.agreement(), comparison.nmi, comparison.ari, comparison.only_first,
      comparison.only_second, escaped(first), escaped(second), class_rows(comparison),
      comparison.differing.size(), thumbnails(comparison.differing, sprites)));
  file.commit();
}

}  // namespace protogcd
