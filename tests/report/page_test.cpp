// The report page in a real browser (web/tests).
#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/report/comparison.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report.h"
#include "tests/report/finished_run.h"
#include "tests/support/browser.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using testing::TemporaryFolder;
using testing::write_run;

/// Drives the page of `folder`/run by a script of web/tests.
void run_script(const std::string& script, const TemporaryFolder& folder) {
  const auto result = testing::run_command(
      {"node", testing::source_folder() + "/web/tests/" + script, folder / "run/report.html",
       testing::chromium_path(), PROTOGCD_PLAYWRIGHT, folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
}

/// Why no page can be driven here; empty where one can.
std::string what_is_missing() {
  if (!has_report_page()) return "built without npm";
  return testing::chromium_path().empty() ? "no chromium here" : "";
}

/// Writes the reports of a finished run and of another, and drives them; skips where there is no
/// browser.
void drive_page(const std::string& script) {
  if (const std::string missing = what_is_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const TemporaryFolder folder;
  write_run(folder / "run");
  write_run(folder / "it's-2", /*older=*/true);
  write_file_atomically(folder / "it's-2/config.toml", "k = 4 # another\n");
  write_run(folder / "first-look");
  nlohmann::json first_look =
      nlohmann::json::parse(read_text_file(folder / "first-look/result.json"));
  first_look["epochs"] = 0;
  first_look["next"] = "protogcd discover --out '<b>'";
  write_file_atomically(folder / "first-look/result.json", first_look.dump());
  std::filesystem::remove(folder / "first-look/metrics.jsonl");
  for (const char* run : {"run", "it's-2", "first-look"})
    write_report(folder / run, folder / run / "report.html", Context{});
  run_script(script, folder);
}

TEST(ReportPage, WorksInABrowser) {
  drive_page("page.mjs");
}

TEST(ReportPage, KeepsCorrections) {
  drive_page("corrections.mjs");
}

TEST(ReportPage, AsksWhatToLabelNextAndTellsTheLikeliestClasses) {
  drive_page("queue.mjs");
}

TEST(ReportPage, StaysResponsiveWithAHundredThousandImages) {
  drive_page("many_points.mjs");
}

// Classes, truths and files are called what attacks a page, and so is the second run of a
// comparison.
TEST(ReportPage, NoNameBecomesCodeAndNothingLeavesThePage) {
  if (const std::string missing = what_is_missing(); !missing.empty()) GTEST_SKIP() << missing;
  const TemporaryFolder folder;
  const testing::RunNames names = testing::hostile_names();
  write_run(folder / "run", /*older=*/false, names);
  write_report(folder / "run", folder / "run/report.html", Context{});
  testing::RunNames other = names;  // it has the images of the first in other classes
  other.image = [&](int i) {
    return (folder / "run" / names.image(37 * i % testing::kImages)).string();
  };
  write_run(folder / "other", /*older=*/false, other);
  write_comparison_page(compare_runs(folder / "run", folder / "other"), names.classes[0],
                        names.classes[4], folder / "comparison.html", Context{});
  run_script("hostile.mjs", folder);
}

}  // namespace
}  // namespace protogcd
