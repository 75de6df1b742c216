#include "protogcd/core/csv.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

/// Whether a spreadsheet would run the text, apostrophes before it aside.
bool is_formula(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of('\''), text.size()));
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != text.npos;
}

/// -1.5 begins as formulas do and is none.
bool is_number(std::string_view text) {
  return parse_real(text).has_value() || text == "-inf" || text == "-nan";
}

/// What stands between the fields of the first line, quoted text aside: a semicolon (spreadsheets
/// where the comma is the decimal mark) or a tab where there is no comma.
char delimiter_of(std::string_view text) {
  bool quoted = false, semicolon = false, tab = false;
  for (const char letter : text.substr(std::min(text.find_first_not_of("\r\n"), text.size()))) {
    if (letter == '"') quoted = !quoted;
    if (quoted) continue;
    if (letter == ',') return ',';
    if (letter == '\n') break;
    semicolon |= letter == ';';
    tab |= letter == '\t';
  }
  return semicolon ? ';' : tab ? '\t' : ',';
}

/// Splits text into rows, one at a time.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& name) : text_(text), name_(name) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
    delimiter_ = delimiter_of(text_);
  }

  /// The next row that is not an empty line; false at the end.
  bool next(CsvRow& row) {
    skip_empty_lines();
    if (text_.empty()) return false;
    row.line = line_;
    row.fields.clear();
    do {
      std::string& field =
          row.fields.emplace_back(text_.starts_with('"') ? quoted_field() : plain_field());
      if (field.starts_with('\'') && is_formula(field)) field.erase(0, 1);
    } while (take(delimiter_));
    if (!take_line_end() && !text_.empty()) {
      throw DataError(fmt::format("{}:{}: text after a closing quote", name_, line_));
    }
    return true;
  }

 private:
  bool take(char expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool take_line_end() {
    if (text_.starts_with("\r\n")) text_.remove_prefix(1);
    if (!take('\n')) return false;
    ++line_;
    return true;
  }

  void skip_empty_lines() {
    while (take_line_end()) {
    }
  }

  std::string plain_field() {
    const char ends[] = {delimiter_, '\n'};
    std::size_t end = std::min(text_.find_first_of({ends, 2}), text_.size());
    if (end < text_.size() && text_[end] == '\n' && end > 0 && text_[end - 1] == '\r') --end;
    std::string field(text_.substr(0, end));
    text_.remove_prefix(end);
    return field;
  }

  std::string quoted_field() {
    const std::size_t first_line = line_;
    text_.remove_prefix(1);
    std::string field;
    for (;;) {
      const std::size_t quote = text_.find('"');
      if (quote == std::string_view::npos) {
        throw DataError(fmt::format("{}:{}: a quoted field is never closed", name_, first_line));
      }
      field += text_.substr(0, quote);
      line_ += std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(quote), '\n');
      text_.remove_prefix(quote + 1);
      if (!take('"')) return field;
      field += '"';
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 1;
  char delimiter_ = ',';
};

}  // namespace

CsvTable CsvTable::parse(std::string_view text, std::string name) {
  CsvTable table;
  table.name_ = std::move(name);
  CsvScanner scanner(text, table.name_);
  CsvRow row;
  if (!scanner.next(row))
    throw DataError(fmt::format("{}: empty, expected a header row", table.name_));
  table.header_ = std::move(row.fields);
  while (scanner.next(row)) {
    if (row.fields.size() != table.header_.size()) {
      throw DataError(fmt::format("{}:{}: {} fields, but the header has {} ({})", table.name_,
                                  row.line, row.fields.size(), table.header_.size(),
                                  few_of(table.header_)));
    }
    table.rows_.push_back(std::move(row));
  }
  return table;
}

CsvTable CsvTable::read(const std::filesystem::path& path) {
  return parse(read_text_file(path), path.string());
}

std::optional<std::size_t> CsvTable::find_column(std::string_view column) const {
  const auto found = std::find(header_.begin(), header_.end(), column);
  if (found == header_.end()) return std::nullopt;
  return found - header_.begin();
}

std::size_t CsvTable::column(std::string_view column) const {
  const auto index = find_column(column);
  if (!index) {
    throw DataError(
        fmt::format("{}:1: no column '{}' (there are: {})", name_, column, few_of(header_)));
  }
  return *index;
}

std::string CsvTable::where(const CsvRow& row) const {
  return fmt::format("{}:{}", name_, row.line);
}

std::string csv_field(std::string_view field) {
  const std::string_view apostrophe = is_formula(field) && !is_number(field) ? "'" : "";
  const bool edge_blank = !field.empty() && (field.front() == ' ' || field.back() == ' ');
  if (field.find_first_of(",\"\r\n") == std::string_view::npos && !edge_blank) {
    return std::string(apostrophe) += field;
  }
  std::string quoted = fmt::format("\"{}", apostrophe);
  for (const char letter : field) {
    if (letter == '"') quoted += '"';
    quoted += letter;
  }
  return quoted + '"';
}

CsvWriter::CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header)
    : file_(path), columns_(header.size()) {
  row(header);
}

void CsvWriter::row(const std::vector<std::string>& fields) {
  if (fields.size() != columns_) throw InternalError("CsvWriter: wrong number of fields");
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_field(fields[i]);
  }
  // A lone empty field would read back as an empty line.
  if (line.empty()) line = "\"\"";
  file_.write(line + "\n");
}

}  // namespace protogcd
