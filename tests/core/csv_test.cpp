#include "protogcd/core/csv.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  try {
    CsvTable::parse(text, "table.csv");
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

TEST(Csv, ReadsQuotesCrlfByteOrderMarkAndMissingLastNewline) {
  const auto table = CsvTable::parse(
      "\xEF\xBB\xBFpath,label\r\n\"a, \"\"b\"\"\n.png\",cat\r\n\r\nc.png,", "t.csv");
  EXPECT_THAT(table.header(), ElementsAre("path", "label"));
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_THAT(table.rows()[0].fields, ElementsAre("a, \"b\"\n.png", "cat"));
  EXPECT_THAT(table.rows()[1].fields, ElementsAre("c.png", ""));
  EXPECT_EQ(table.where(table.rows()[1]), "t.csv:5");
}

TEST(Csv, TheHeaderLineSaysWhetherSemicolonsOrTabsSeparate) {
  const auto semicolons =
      CsvTable::parse("\xEF\xBB\xBF\r\npath;\"a, label\"\r\n\"b;1.png\";0,5\r\n", "t.csv");
  EXPECT_THAT(semicolons.header(), ElementsAre("path", "a, label"));
  EXPECT_THAT(semicolons.rows().at(0).fields, ElementsAre("b;1.png", "0,5"));
  const auto tabs = CsvTable::parse("path\tlabel\na;1.png\tcat, black\n", "t.csv");
  EXPECT_THAT(tabs.rows().at(0).fields, ElementsAre("a;1.png", "cat, black"));
  const auto commas = CsvTable::parse("path,a;b\tc\n1;2,3\n", "t.csv");
  EXPECT_THAT(commas.header(), ElementsAre("path", "a;b\tc"));
  EXPECT_THAT(commas.rows().at(0).fields, ElementsAre("1;2", "3"));
  const auto one_column = CsvTable::parse("path\na;b.png\n", "t.csv");
  EXPECT_THAT(one_column.rows().at(0).fields, ElementsAre("a;b.png"));
  EXPECT_THAT(error_of("a;b\n1;2\n1;2;3\n"), HasSubstr("table.csv:3: 3 fields"));
}

TEST(Csv, ErrorsNameFileAndLine) {
  EXPECT_THAT(error_of("a,b\n1,2\n1,2,3\n"), HasSubstr("table.csv:3: 3 fields"));
  EXPECT_THAT(error_of("a,b\n1,\"2\n\n"), HasSubstr("table.csv:2: a quoted field is never closed"));
  EXPECT_THAT(error_of("a,b\n1,\"2\"x\n"), HasSubstr("table.csv:2: text after a closing quote"));
  EXPECT_THAT(error_of(""), HasSubstr("table.csv: empty"));
}

TEST(Csv, MissingColumnIsNamedWithThoseThereAre) {
  const auto table = CsvTable::parse("path,label\n", "t.csv");
  EXPECT_EQ(table.column("label"), 1u);
  EXPECT_EQ(table.find_column("split"), std::nullopt);
  try {
    table.column("split");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no column 'split' (there are: path, label)"));
  }
}

TEST(Csv, WhatIsWrittenReadsBack) {
  const testing::TemporaryFolder folder;
  const std::vector<std::string> odd = {"plain",           "comma,",   "quote\"",
                                        "line\nbreak\r\n", " blanks ", ""};
  const std::vector<std::string> header = {"a", "b", "c", "d", "e", "f"};
  CsvWriter writer(folder / "t.csv", header);
  writer.row(odd);
  writer.commit();
  const auto table = CsvTable::read(folder / "t.csv");
  EXPECT_EQ(table.header(), header);
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].fields, odd);
}

TEST(Csv, NoTextIsAFormulaForASpreadsheetAndAllReadsBack) {
  for (const std::string text :
       {"=1+1", "+49", "-x", "@sum", "\tx", "\rx", "=cmd|' /C calc'!A0", "-", "'=x", "''=x", "=a,b",
        "=\"a\"", "'", "'a", "a=b", " =a", "-inf()", "-0x10", "'-1.5"}) {
    const std::string written = csv_field(text);
    const char first = written[written.starts_with('"') ? 1 : 0];
    EXPECT_EQ(std::string_view("=+-@\t\r").find(first), std::string_view::npos) << written;
    const auto table = CsvTable::parse("a,b\n" + written + ",end\n", "t.csv");
    EXPECT_THAT(table.rows().at(0).fields, ElementsAre(text, "end"));
  }
  for (const std::string number : {"-1.5", "-1e-05", "-inf", "-nan", "3"})
    EXPECT_EQ(csv_field(number), number);
  // Tables of others hold such texts as they are.
  EXPECT_THAT(CsvTable::parse("a\n=x\n", "t.csv").rows().at(0).fields, ElementsAre("=x"));
}

TEST(Csv, ALongLineIsReadAndAMessageAboutItIsShort) {
  const std::string many = std::string(1'000'000, ','), message = error_of("a" + many + "\n1,2\n");
  EXPECT_THAT(message, HasSubstr("2 fields, but the header has 1000001"));
  EXPECT_LT(message.size(), 1000u);
  const std::string field(std::size_t{16} << 20, 'x');
  EXPECT_EQ(CsvTable::parse("a,b\n" + field + ",\"" + field + "\"\n", "t.csv").rows().at(0).fields,
            std::vector<std::string>({field, field}));
}

TEST(Csv, ASingleEmptyFieldIsStillARow) {
  const testing::TemporaryFolder folder;
  CsvWriter writer(folder / "t.csv", {"a"});
  writer.row({""});
  writer.commit();
  EXPECT_EQ(CsvTable::read(folder / "t.csv").rows().size(), 1u);
}

}  // namespace
}  // namespace protogcd
