// Comma-separated files (RFC 4180): quoted fields, CRLF, a byte-order mark; errors name file and
// line. Read with semicolons or tabs too, as the header line has them; written with commas.
//
// A spreadsheet runs a text that begins with = + - @, a tab or a carriage return as a formula, and
// texts of ours are names that strangers gave. Such a text is written with an apostrophe before it,
// which reading takes away; so is one that had apostrophes before that, or it would lose one.
// Numbers stay as they are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/core/files.h"

namespace protogcd {

struct CsvRow {
  std::size_t line = 0;  ///< 1-based line the row starts on
  std::vector<std::string> fields;
};

/// A table with a header row. Every row has as many fields as the header.
class CsvTable {
 public:
  /// `name` stands for the file in messages. Throws DataError on broken quoting or a wrong number
  /// of fields.
  static CsvTable parse(std::string_view text, std::string name);
  static CsvTable read(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& header() const { return header_; }
  const std::vector<CsvRow>& rows() const { return rows_; }

  std::optional<std::size_t> find_column(std::string_view column) const;
  /// The column's index; DataError lists the columns there are.
  std::size_t column(std::string_view column) const;
  /// "file.csv:7", for messages about a row.
  std::string where(const CsvRow& row) const;

 private:
  std::string name_;
  std::vector<std::string> header_;
  std::vector<CsvRow> rows_;
};

/// Writes rows to a file that appears only when `commit` succeeds.
class CsvWriter {
 public:
  CsvWriter(const std::filesystem::path& path, const std::vector<std::string>& header);
  void row(const std::vector<std::string>& fields);
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::size_t columns_;
};

/// The field as it stands in a file: no formula, and quoted where it must be.
std::string csv_field(std::string_view field);

}  // namespace protogcd
