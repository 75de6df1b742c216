// The report page in a real browser (web/tests).
#include <gtest/gtest.h>

#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
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

/// Writes the reports of a finished run and of another, and drives them by a script of
/// web/tests; skips where there is no browser.
void drive_page(const std::string& script) {
  if (!has_report_page()) GTEST_SKIP() << "built without npm";
  const std::string chromium = testing::chromium_path();
  if (chromium.empty()) GTEST_SKIP() << "no chromium here";
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
  const auto result = testing::run_command(
      {"node", testing::source_folder() + "/web/tests/" + script, folder / "run/report.html",
       chromium, PROTOGCD_PLAYWRIGHT, folder.path()});
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
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

TEST(ReportPage, DrawsFiftyThousandPoints) {
  drive_page("many_points.mjs");
}

}  // namespace
}  // namespace protogcd
