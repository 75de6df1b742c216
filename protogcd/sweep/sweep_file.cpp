#include "protogcd/sweep/sweep_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/core/toml_checked.h"

namespace protogcd {
namespace {

/// What the sweep itself says to every step.
const std::set<std::string> kOwnOptions = {"seed", "out", "resume", "overwrite", "json", "threads"};

template <class List, class Projection>
std::optional<std::size_t> position_of(const List& list, std::string_view name,
                                       Projection projection) {
  const auto found = std::ranges::find(list, name, projection);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

class SweepParser {
 public:
  SweepParser(const toml::table& table, const std::string& name) : table_(table) {
    file_.name = name;
  }

  SweepFile parse() {
    check_keys(table_, {"title", "verb", "seeds", "variables", "options", "axis", "then", "column",
                        "paper", "chart"});
    file_.title = text_or(table_, "title", std::filesystem::path(file_.name).stem().string());
    read_seeds();
    if (const toml::table* variables = optional_table(table_, "variables")) {
      for (const auto& [key, node] : *variables)
        file_.variables[std::string(key.str())] = scalar(node, key.str());
    }
    read_steps();
    for (const toml::table* axis : tables(table_, "axis")) read_axis(*axis);
    check_axes_apart();
    for (const toml::table* column : tables(table_, "column")) read_column(*column);
    if (file_.columns.empty()) fail(table_, "no [[column]]: which numbers shall the table have?");
    if (const toml::table* paper = optional_table(table_, "paper")) read_paper(*paper);
    read_chart();
    return std::move(file_);
  }

 private:
  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", file_.name, node.source().begin.line);
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& problem) const {
    throw ConfigError(fmt::format("{}: {}", where(node), problem));
  }

  void check_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::ranges::find(known, name) == known.end()) {
        fail(node, fmt::format("unknown key '{}'{} (known: {})", name, did_you_mean(name, known),
                               join(known, ", ")));
      }
    }
  }

  std::string scalar(const toml::node& node, std::string_view key) const {
    auto text = scalar_text(node);
    if (!text) fail(node, fmt::format("{}: expected a text, a number, true or false", key));
    return *text;
  }
  std::string text_or(const toml::table& table, const char* key, std::string fallback) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fallback;
    if (!node->is_string()) fail(*node, fmt::format("{}: expected a text", key));
    return scalar(*node, key);
  }
  bool true_or_false(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return false;
    if (!node->is_boolean()) fail(*node, fmt::format("{}: expected true or false", key));
    return node->as_boolean()->get();
  }
  std::string needed_text(const toml::table& table, const char* key, const char* of) const {
    if (!table.contains(key)) fail(table, fmt::format("{} needs '{}'", of, key));
    std::string text = text_or(table, key, "");
    if (text.empty()) fail(*table.get(key), fmt::format("{}: is empty", key));
    return text;
  }
  const toml::table* optional_table(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_table()) fail(*node, fmt::format("{}: expected a table, [{}]", key, key));
    return node->as_table();
  }
  const toml::array* optional_array(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array()) fail(*node, fmt::format("{}: expected a list", key));
    return node->as_array();
  }
  std::vector<const toml::table*> tables(const toml::table& table, const char* key) const {
    std::vector<const toml::table*> list;
    const toml::array* array = optional_array(table, key);
    if (array == nullptr) return list;
    for (const auto& node : *array) {
      if (!node.is_table()) fail(node, fmt::format("{0}: expected tables, [[{0}]]", key));
      list.push_back(node.as_table());
    }
    return list;
  }

  Setting setting(const std::string& key, const toml::node& node) const {
    if (kOwnOptions.contains(key)) {
      fail(node, fmt::format("{}: the sweep itself says this{}", key,
                             key == "seed" ? "; give seeds = [...]" : ""));
    }
    Setting setting{.key = key, .values = {}, .where = where(node)};
    if (const toml::array* list = node.as_array()) {
      setting.kind = Setting::Kind::kList;
      for (const auto& item : *list) setting.values.push_back(scalar(item, key));
      return setting;
    }
    if (node.is_boolean()) setting.kind = Setting::Kind::kSwitch;
    setting.values = {scalar(node, key)};
    return setting;
  }
  std::vector<Setting> settings(const toml::table& table, std::string_view except = {}) const {
    std::vector<Setting> list;
    for (const auto& [key, node] : table) {
      if (key.str() != except) list.push_back(setting(std::string(key.str()), node));
    }
    return list;
  }

  void read_seeds() {
    const toml::array* seeds = optional_array(table_, "seeds");
    if (seeds == nullptr) return;
    file_.seeds.clear();
    for (const auto& node : *seeds) {
      const auto seed = parse_unsigned(scalar(node, "seeds"));
      if (!seed) fail(node, "seeds: expected whole numbers of at least 0");
      if (std::ranges::count(file_.seeds, *seed) > 0)
        fail(node, fmt::format("seeds: {} is there twice", *seed));
      file_.seeds.push_back(*seed);
    }
    if (file_.seeds.empty()) fail(*seeds, "seeds: is empty");
  }

  void read_steps() {
    const std::string verb = text_or(table_, "verb", "train");
    const toml::node* named = table_.get("verb");
    SweepStep first{
        .name = verb, .verb = verb, .settings = {}, .where = where(named ? *named : table_)};
    if (const toml::table* options = optional_table(table_, "options"))
      first.settings = settings(*options);
    file_.steps.push_back(std::move(first));
    for (const toml::table* then : tables(table_, "then")) {
      check_keys(*then, {"name", "verb", "options"});
      SweepStep step{.name = {},
                     .verb = needed_text(*then, "verb", "[[then]]"),
                     .settings = {},
                     .where = where(*then)};
      step.name = text_or(*then, "name", step.verb);
      if (const toml::table* options = optional_table(*then, "options"))
        step.settings = settings(*options);
      const auto slug_of = [](const SweepStep& one) { return label_slug(one.name); };
      if (const auto same = position_of(file_.steps, slug_of(step), slug_of)) {
        const std::string& other = file_.steps[*same].name;
        fail(*then, other == step.name
                        ? fmt::format("[[then]]: '{}' is there twice; give one a name", other)
                        : fmt::format("[[then]]: '{}' and '{}' would have the same files; names "
                                      "must differ in letters or digits",
                                      other, step.name));
      }
      file_.steps.push_back(std::move(step));
    }
    for (SweepStep& step : file_.steps) {  // a name is also that of files beside run/
      if (const std::string slug = label_slug(step.name); slug.empty() || slug == "run")
        fail(table_, fmt::format("'{}' is no name for a step", step.name));
    }
  }

  SweepAxis short_axis(const toml::table& table) {
    check_keys(table, {"name", "option", "values"});
    const std::string option = needed_text(table, "option", "[[axis]]");
    SweepAxis axis{.name = text_or(table, "name", option), .points = {}};
    const toml::array* values = optional_array(table, "values");
    if (values == nullptr) fail(table, "[[axis]] needs 'values' beside 'option'");
    for (const auto& node : *values)
      axis.points.push_back({scalar(node, "values"), {setting(option, node)}});
    return axis;
  }

  SweepAxis long_axis(const toml::table& table) {
    check_keys(table, {"name", "point"});
    SweepAxis axis{.name = needed_text(table, "name", "[[axis]]"), .points = {}};
    for (const toml::table* point : tables(table, "point")) {
      axis.points.push_back(
          {needed_text(*point, "label", "[[axis.point]]"), settings(*point, "label")});
    }
    return axis;
  }

  void read_axis(const toml::table& table) {
    SweepAxis axis = table.contains("point") ? long_axis(table) : short_axis(table);
    if (position_of(file_.axes, axis.name, &SweepAxis::name))
      fail(table, fmt::format("[[axis]]: the name '{}' is there twice", axis.name));
    if (axis.points.empty()) fail(table, fmt::format("axis '{}' has no points", axis.name));
    std::map<std::string, std::string> slugs;
    for (const SweepPoint& point : axis.points) {
      const std::string slug = label_slug(point.label);
      const auto [same, is_new] = slugs.try_emplace(slug, point.label);
      if (slug.empty() || !is_new) {
        fail(table,
             same->second == point.label && !is_new
                 ? fmt::format("axis '{}': the label '{}' is there twice", axis.name, point.label)
                 : fmt::format("axis '{}': the label '{}' gives no folder of its own; "
                               "labels must differ in letters or digits",
                               axis.name, point.label));
      }
    }
    file_.axes.push_back(std::move(axis));
  }

  /// An option that two axes set would have no meaning.
  void check_axes_apart() const {
    std::map<std::string, std::string> owners;
    for (const SweepAxis& axis : file_.axes) {
      for (const SweepPoint& point : axis.points) {
        for (const Setting& setting : point.settings) {
          const auto& owner = owners.try_emplace(setting.key, axis.name).first->second;
          if (owner != axis.name) {
            throw ConfigError(fmt::format("{}: '{}' is set by the axes '{}' and '{}'",
                                          setting.where, setting.key, owner, axis.name));
          }
        }
      }
    }
  }

  void read_column(const toml::table& table) {
    check_keys(table, {"name", "pointer", "step", "percent", "digits"});
    SweepColumn column{.name = needed_text(table, "name", "[[column]]"),
                       .pointer = needed_text(table, "pointer", "[[column]]"),
                       .percent = true_or_false(table, "percent")};
    if (!column.pointer.starts_with('/')) {
      fail(table, fmt::format("column '{}': '{}' is no JSON pointer; one looks like /test/all",
                              column.name, column.pointer));
    }
    if (position_of(file_.columns, column.name, &SweepColumn::name))
      fail(table, fmt::format("[[column]]: the name '{}' is there twice", column.name));
    const std::string step = text_or(table, "step", file_.steps.front().name);
    const auto position = position_of(file_.steps, step, &SweepStep::name);
    if (!position)
      fail(table, fmt::format("column '{}': there is no step '{}'", column.name, step));
    column.step = *position;
    if (const toml::node* node = table.get("digits")) {
      const auto digits = node->value<std::int64_t>();
      if (!node->is_integer() || *digits < 0 || *digits > 9) fail(*node, "digits: expected 0 to 9");
      column.digits = static_cast<int>(*digits);
    }
    file_.columns.push_back(std::move(column));
  }

  std::size_t axis_named(const toml::table& table, const char* key) const {
    const std::string name = text_or(table, key, "");
    const auto position = position_of(file_.axes, name, &SweepAxis::name);
    if (!position) fail(*table.get(key), fmt::format("{}: there is no axis '{}'", key, name));
    return *position;
  }
  std::size_t column_named(const toml::node& node, const char* key) const {
    const std::string name = scalar(node, key);
    const auto position = position_of(file_.columns, name, &SweepColumn::name);
    if (!position) fail(node, fmt::format("{}: there is no column '{}'", key, name));
    return *position;
  }
  /// A name, or a list of names; every column if the key is absent.
  std::vector<std::size_t> columns_named(const toml::table& table, const char* key) const {
    std::vector<std::size_t> columns;
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      for (std::size_t i = 0; i < file_.columns.size(); ++i) columns.push_back(i);
    } else if (const toml::array* list = node->as_array()) {
      for (const auto& item : *list) columns.push_back(column_named(item, key));
    } else {
      columns.push_back(column_named(*node, key));
    }
    if (columns.empty()) fail(*node, fmt::format("{}: is empty", key));
    return columns;
  }

  void read_paper(const toml::table& table) {
    check_keys(table, {"source", "epoch", "columns", "rows", "method"});
    file_.paper_source = needed_text(table, "source", "[paper]");
    if (const toml::node* node = table.get("epoch")) {
      const auto which = std::ranges::find(kWhichEpochs, scalar(*node, "epoch"), name_of);
      if (which == std::end(kWhichEpochs))
        fail(*node, "[paper] epoch: expected last, best_on_unlabelled or best_on_test");
      file_.paper_epoch = *which;
    }
    const auto columns = columns_named(table, "columns");
    read_paper_rows(table, columns, file_.paper);
    const toml::array* methods = optional_array(table, "method");
    if (methods == nullptr) return;
    for (const auto& node : *methods) {
      if (!node.is_table()) fail(node, "[[paper.method]]: expected tables with 'name' and 'rows'");
      const toml::table& method = *node.as_table();
      check_keys(method, {"name", "rows"});
      const std::string name = needed_text(method, "name", "[[paper.method]]");
      if (position_of(file_.paper_methods, name, &std::pair<std::string, PaperNumbers>::first))
        fail(method, fmt::format("[[paper.method]]: '{}' is there twice", name));
      read_paper_rows(method, columns,
                      file_.paper_methods.emplace_back(name, PaperNumbers()).second);
    }
  }

  void read_paper_rows(const toml::table& table, const std::vector<std::size_t>& columns,
                       PaperNumbers& numbers) {
    const toml::array* rows = optional_array(table, "rows");
    if (rows == nullptr) fail(table, "[paper] needs 'rows'");
    for (const auto& node : *rows) {
      if (!node.is_array()) fail(node, "[paper] rows: expected lists");
      read_paper_row(*node.as_array(), columns, numbers);
    }
  }

  /// The labels of a cell, one of each axis, then a number for each column.
  void read_paper_row(const toml::array& row, const std::vector<std::size_t>& columns,
                      PaperNumbers& numbers) {
    if (row.size() != file_.axes.size() + columns.size()) {
      fail(row, fmt::format("[paper] rows: expected {} labels and {} numbers, found {} values",
                            file_.axes.size(), columns.size(), row.size()));
    }
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < file_.axes.size(); ++i) {
      const std::string label = scalar(row[i], "[paper] rows");
      const auto position = position_of(file_.axes[i].points, label, &SweepPoint::label);
      if (!position) {
        fail(row,
             fmt::format("[paper] rows: axis '{}' has no point '{}'", file_.axes[i].name, label));
      }
      at.push_back(*position);
    }
    std::vector<double> values(file_.columns.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const toml::node& node = row[file_.axes.size() + i];
      if (!node.is_number()) fail(row, "[paper] rows: expected a number, or nan for none");
      values[columns[i]] = *node.value<double>();
    }
    if (!numbers.emplace(std::move(at), std::move(values)).second)
      fail(row, "[paper] rows: this cell is there twice");
  }

  void read_chart() {
    const toml::table* table = optional_table(table_, "chart");
    if (table == nullptr) return default_chart();
    check_keys(*table, {"x", "lines", "y", "even"});
    if (!table->contains("x")) fail(*table, "[chart] needs 'x', an axis");
    SweepChart chart{.x = axis_named(*table, "x"),
                     .lines = {},
                     .columns = {},
                     .even = true_or_false(*table, "even")};
    if (table->contains("lines")) chart.lines = axis_named(*table, "lines");
    chart.columns = columns_named(*table, "y");
    if (chart.lines && !table->contains("y")) chart.columns.resize(1);
    if (chart.lines && (chart.columns.size() > 1 || *chart.lines == chart.x))
      fail(*table, "[chart]: 'lines' takes another axis than x, and one column as y");
    for (std::size_t i = 0; i < file_.axes.size(); ++i) {
      if (i != chart.x && chart.lines != i && file_.axes[i].points.size() > 1)
        fail(*table, fmt::format("[chart]: axis '{}' is neither x nor lines", file_.axes[i].name));
    }
    file_.chart = chart;
  }

  void default_chart() {
    if (file_.axes.empty() || file_.axes.size() > 2) return;
    SweepChart chart{.x = file_.axes.size() - 1, .lines = {}, .columns = {}};
    if (file_.axes.size() == 2) {
      chart.lines = 0;
      chart.columns = {0};
    } else {
      for (std::size_t i = 0; i < file_.columns.size(); ++i) chart.columns.push_back(i);
    }
    file_.chart = chart;
  }

  const toml::table& table_;
  SweepFile file_;
};

}  // namespace

const char* name_of(WhichEpoch which) {
  switch (which) {
    case WhichEpoch::kLast:
      return "last";
    case WhichEpoch::kBestOnUnlabelled:
      return "best_on_unlabelled";
    case WhichEpoch::kBestOnTest:
      return "best_on_test";
  }
  return "";
}

SweepFile parse_sweep(std::string_view text, const std::string& name) {
  const toml::table table = parse_toml(text, name);
  return SweepParser(table, name).parse();
}

SweepFile read_sweep(const std::filesystem::path& path) {
  constexpr std::uint64_t kLargestSweep = 16 << 20;
  return parse_sweep(read_text_file(path, kLargestSweep), path.string());
}

void apply_override(SweepFile& file, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw UsageError(fmt::format("{} {}: expected key=value", option_name("set"), assignment));
  }
  std::string key = assignment.substr(0, equals);
  const std::string value = assignment.substr(equals + 1);
  if (const auto variable = file.variables.find(key); variable != file.variables.end()) {
    variable->second = value;
    return;
  }
  std::ranges::replace(key, '-', '_');
  if (kOwnOptions.contains(key)) {
    throw UsageError(
        fmt::format("{} {}: the sweep itself says this", option_name("set"), assignment));
  }
  for (const SweepAxis& axis : file.axes) {
    for (const SweepPoint& point : axis.points) {
      if (std::ranges::count(point.settings, key, &Setting::key) > 0)
        throw UsageError(
            fmt::format("{} {}: the axis '{}' sets it", option_name("set"), assignment, axis.name));
    }
  }
  auto& settings = file.steps.front().settings;
  std::erase_if(settings, [&](const Setting& setting) { return setting.key == key; });
  const bool is_switch = value == "true" || value == "false";
  settings.push_back({.key = key,
                      .kind = is_switch ? Setting::Kind::kSwitch : Setting::Kind::kScalar,
                      .values = {value},
                      .where = fmt::format("{} {}", option_name("set"), assignment)});
}

std::string label_slug(std::string_view label) {
  std::string slug;
  for (const char letter : label) {
    const auto code = static_cast<unsigned char>(letter);
    const bool inside = !slug.empty();
    if (code < 0x80 && (std::isalnum(code) != 0 || (letter == '.' && inside))) {
      slug += letter;
    } else if (inside && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && (slug.back() == '-' || slug.back() == '.')) slug.pop_back();
  return slug;
}

}  // namespace protogcd
