// `protogcd datasets verify`: is everything there, and can every image be read?
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/data_options.h"
#include "protogcd/data/verify.h"
#include "protogcd/image/image_options.h"

namespace protogcd::cli {
namespace {

struct VerifyOptions {
  DataOptions data;
  std::filesystem::path skipped;
  bool overwrite = false;
};

struct Findings {
  DatasetCheck check;
  std::size_t image_files = 0;
  std::vector<std::pair<std::string, std::string>> unreadable;  ///< path and reason
};

/// Too many unreadable images are a problem, fewer are a note.
void judge(Findings& findings, const BadImagePolicy& policy) {
  if (findings.unreadable.empty()) return;
  const std::size_t allowed = policy.allowed(findings.image_files);
  const auto& [path, reason] = findings.unreadable.front();
  const std::string text = fmt::format(
      "{} of {} images cannot be read ({} allows {}), the first: {}: {}",
      findings.unreadable.size(), findings.image_files,
      policy.fails_at_once() ? "--bad-images fail" : "--max-bad", allowed, path, reason);
  const bool too_many = findings.unreadable.size() > allowed;
  (too_many ? findings.check.problems : findings.check.notes).push_back(text);
}

/// What keeps the dataset from being opened is a problem like any other.
std::optional<Dataset> open_or_note(const DataOptions& options, DatasetCheck& check) {
  const Logger silent;  // warnings are listed among the problems
  try {
    return open_data(options, silent);
  } catch (const DataError& error) {
    check.problems.push_back(error.spelled(flag_of));
  } catch (const FileError& error) {
    check.problems.push_back(error.spelled(flag_of));
  }
  return std::nullopt;
}

Findings look_over(Session& session, const VerifyOptions& options) {
  Findings findings;
  const auto dataset = open_or_note(options.data, findings.check);
  if (!dataset) return findings;
  const bool is_benchmark = options.data.is_benchmark();
  findings.check = check_dataset(*dataset, is_benchmark);
  findings.image_files = count_image_files(*dataset);
  // All of them are wanted here; how many are too many is judged at the end.
  SkippedFiles skipped(BadImagePolicy::parse("skip", "100%"), findings.image_files);
  find_unreadable(*dataset, decode_options({}, is_benchmark, 0), session.context, skipped);
  for (const auto& file : skipped.files()) {
    findings.unreadable.emplace_back(dataset->sources.path(file.source), file.reason);
  }
  if (!options.skipped.empty()) skipped.write(options.skipped, dataset->sources);
  judge(findings, session.bad_image_policy());
  return findings;
}

void print_json(const Session& session, const Findings& findings) {
  nlohmann::json unreadable = nlohmann::json::array();
  for (const auto& [path, reason] : findings.unreadable) {
    unreadable.push_back({{"path", path}, {"reason", reason}});
  }
  session.print_json({{"ok", findings.check.problems.empty()},
                      {"problems", findings.check.problems},
                      {"notes", findings.check.notes},
                      {"image_files", findings.image_files},
                      {"unreadable", unreadable}});
}

void print_text(const Findings& findings) {
  constexpr std::size_t kMostListed = 100;  // a wrong folder would otherwise list every file
  const std::size_t count = findings.unreadable.size();
  for (std::size_t i = 0; i < std::min(count, kMostListed); ++i) {
    const auto& [path, reason] = findings.unreadable[i];
    say("cannot be read: {}: {}\n", path, reason);
  }
  if (count > kMostListed) {
    say("and {} more (--skipped FILE.csv lists them all)\n", count - kMostListed);
  }
  for (const auto& problem : findings.check.problems) say("problem: {}\n", problem);
  for (const auto& note : findings.check.notes) say("note: {}\n", note);
  if (findings.check.problems.empty()) {
    say("{} image files read, {}\n", findings.image_files - count,
        count == 0 ? "all is there" : "else all is there");
  }
}

void verify(Session& session, const VerifyOptions& options) {
  if (!options.skipped.empty()) {
    check_output_file(options.skipped, options.overwrite, "skipped");
  }
  const Findings findings = look_over(session, options);
  if (session.json()) {
    print_json(session, findings);
  } else {
    print_text(findings);
  }
  const auto& problems = findings.check.problems;
  if (!problems.empty()) {
    throw DataError(problems.size() == 1 ? problems.front()
                                         : fmt::format("{} problems, the first: {}",
                                                       problems.size(), problems.front()));
  }
}

}  // namespace

Verb datasets_verify_verb() {
  return {
      .name = "datasets verify",
      .summary = "check that a dataset is complete, consistent and readable",
      .example = "protogcd datasets verify --labelled birds/labelled --skipped skipped.csv",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<VerifyOptions>();
        declare_data_options(table, options->data);
        table
            .add("skipped", &options->skipped,
                 "also write the images that cannot be read, as path,reason")
            .value_name("FILE.csv");
        table.add("overwrite", &options->overwrite, "replace that file if it exists").flag_only();
        return [options](Session& session) { verify(session, *options); };
      }};
}

}  // namespace protogcd::cli
