// `protogcd train` and `protogcd discover`: a method, on a known dataset or on one's own images.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/method_options.h"
#include "protogcd/cli/processes.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/discovery/discover.h"
#include "protogcd/discovery/run_beginning.h"
#include "protogcd/report/page.h"
#include "protogcd/report/report.h"
#include "protogcd/run/label_next.h"
#include "protogcd/run/run_files.h"
#include "protogcd/run/run_result.h"

namespace protogcd::cli {
namespace {

/// New classes first, as they are what was looked for; large ones before small ones.
void print_classes(std::vector<FoundClass> classes) {
  constexpr std::size_t kMostRows = 40;
  std::ranges::stable_sort(classes, [](const FoundClass& a, const FoundClass& b) {
    return a.is_new != b.is_new ? a.is_new : a.images > b.images;
  });
  std::size_t width = 5;
  for (const FoundClass& found : classes) width = std::max(width, found.name.size());
  const bool with_truth =
      std::ranges::any_of(classes, [](const FoundClass& found) { return !found.truth.empty(); });
  const bool with_stability = std::ranges::any_of(
      classes, [](const FoundClass& found) { return found.stability.has_value(); });
  say("\n{:{}}  images  sure{}{}\n", "class", width, with_stability ? "  stable" : "",
      with_truth ? "   in truth mostly" : "");
  for (std::size_t i = 0; i < std::min(classes.size(), kMostRows); ++i) {
    const FoundClass& found = classes[i];
    say("{:{}}  {:6}  {:3.0f}%", found.name, width, found.images, 100 * found.confidence);
    if (found.stability)
      say("  {:5.0f}%", 100 * *found.stability);
    else if (with_stability)
      say("{:8}", "");
    if (!found.truth.empty()) say("   {} ({:.0f}%)", found.truth, 100 * found.truth_share);
    say("\n");
  }
  if (classes.size() > kMostRows)
    say("... and {} more, in result.json\n", classes.size() - kMostRows);
  say("\n");
}

void print(const RunResult& summary) {
  const std::filesystem::path& out = summary.out;
  if (summary.estimate) say("{}\n", summary.estimate->in_words(flag_of));
  say("{}: {} classes, {} of them new, in {}\n", out.string(), summary.k, summary.k - summary.k_old,
      human_seconds(summary.seconds));
  const double in_new =
      (1 - summary.on_unlabelled.predicted_old) * static_cast<double>(summary.unlabelled);
  say("unlabelled images: {}, of which {:.0f} went to new classes\n", summary.unlabelled, in_new);
  print_classes(summary.classes);
  if (summary.outliers > 0)
    say("{} (is_outlier in predictions.csv)\n", outliers_in_words(summary, flag_of));
  if (summary.on_unlabelled.samples > 0) {
    say("accuracy on the unlabelled images: {}\n", in_words_with_intervals(summary.on_unlabelled));
  }
  if (summary.on_test) {
    say("test images ({}): {}\n", summary.test, in_words_with_intervals(*summary.on_test));
  }
  const std::string best = summary.by_epoch ? in_words(*summary.by_epoch) : "";
  if (!best.empty()) say("{}\n", best);
  if (summary.skipped > 0) {
    say("{} images could not be read, see {}\n", summary.skipped,
        (out / run_files::kSkipped).string());
  }
  const std::string findings = summary.findings ? in_words(*summary.findings) : "";
  if (!findings.empty()) say("{}, see {}\n", findings, (out / run_files::kFindings).string());
  say("predictions: {}\n", (out / run_files::kPredictions).string());
  const std::filesystem::path queue = out / run_files::kLabelNext;
  const std::size_t queued = std::filesystem::exists(queue) ? read_label_next(queue).size() : 0;
  if (queued > 0) {
    say("{} image{} to label next: {}\n", queued, queued == 1 ? "" : "s", queue.string());
  }
}

/// The run is finished whatever becomes of its page.
void write_page(const std::filesystem::path& out, const Session& session, const Context& context) {
  try {
    const std::filesystem::path page = out / run_files::kReport;
    write_report(out, page, context);
    if (!session.json()) say("report: {} (open it in a browser)\n", page.string());
  } catch (const Error& error) {
    context.log.warning(
        fmt::format("the run is complete, but has no report: {}; make it with: protogcd report {}",
                    error.marked(), out.string()));
  }
}

/// A run as it ends: what it found, and its page.
void tell(const Discovery& found, const DiscoverOptions& options, Session& session,
          const Context& context) {
  const bool wants_page = options.train.report && has_report_page();
  if (found.was_finished) {  // perhaps killed just before its page
    if (wants_page && !std::filesystem::exists(found.result.out / run_files::kReport))
      write_page(found.result.out, session, context);
    return;
  }
  if (!session.json()) print(found.result);
  if (wants_page) write_page(found.result.out, session, context);
  if (!session.json() && !found.result.next.empty())
    say("a first look, without training; now train:\n  {}\n", found.result.next);
}

void print_spread(const std::vector<RunResult>& runs) {
  const RunSpread spread = spread_of(runs);
  if (std::isnan(spread.mean.all)) return;
  say("{} runs: All {:.1f} +- {:.1f}, Old {:.1f} +- {:.1f}, New {:.1f} +- {:.1f}\n", runs.size(),
      spread.mean.all, spread.deviation.all, spread.mean.old_classes, spread.deviation.old_classes,
      spread.mean.new_classes, spread.deviation.new_classes);
}

/// Of several processes the first says where the run stands; the others have no folder of it.
Discovery discover_in_team(const DiscoverOptions& options, const Context& context) {
  try {
    return discover(options, context);
  } catch (const InterruptedError& error) {
    if (context.process.rank == 0) throw;
    throw InterruptedError(fmt::format("process {} {}", context.process.rank + 1, error.marked()));
  }
}

void run(DiscoverOptions options, std::int64_t process_timeout, Session& session) {
  options.bad_images = session.common.bad_images;
  options.max_bad = session.common.max_bad;
  const InterruptGuard interrupt(session.host_stop);
  // Begun again after one of them died: the run goes on, where they had begun it.
  if (join_processes_of(session, process_timeout) > 0 &&
      was_begun_by(folder_of_run(options, session.context.seed), session.context.process.job)) {
    options.train.overwrite = false;
    options.train.resume = true;
  }
  resolve(options, session.context.log);
  Context context = session.context;
  context.stop = interrupt.token();
  const auto told = [&](const Discovery& found) { tell(found, options, session, context); };
  if (options.runs == 1) {
    const Discovery found = discover_in_team(options, context);
    if (context.process.rank > 0) return;
    told(found);
    if (session.json()) session.print_json(to_json(found.result));
    return;
  }
  const std::vector<RunResult> runs = discover_several(options, context, told);
  if (session.json()) return session.print_json(to_json(std::span<const RunResult>(runs)));
  print_spread(runs);
}

Action declare_with(DiscoverOptions defaults, OptionTable& table, const std::string& method) {
  auto options = std::make_shared<DiscoverOptions>(std::move(defaults));
  declare_method(table, options->train.method, method);
  declare_discover_options(table, *options);
  const auto timeout = std::make_shared<std::int64_t>(600);
  declare_processes(table, *timeout);
  return [options, timeout](Session& session) { run(*options, *timeout, session); };
}

}  // namespace

Verb train_verb() {
  return {.name = "train",
          .summary = "train on a known dataset, a manifest or folders, and evaluate",
          .example =
              "protogcd train --config configs/cub.toml --root data/CUB_200_2011 --backbone "
              "dino-vitb16 --out runs/cub",
          .variant_key = kMethodKey,
          .variants = method_names(),
          .variant_group = kMethodGroup,
          .declare_variant = [](OptionTable& table, const std::string& method) {
            return declare_with(DiscoverOptions::for_train(), table, method);
          }};
}

Verb discover_verb() {
  return {.name = "discover",
          .summary = "find the classes hiding among unlabelled images",
          .example =
              "protogcd discover --labelled known --unlabelled all --backbone dino-vitb16 "
              "--out run",
          .variant_key = kMethodKey,
          .variants = method_names(),
          .variant_switch = {{.key = "quick", .variant = "kmeans"}},
          .variant_group = kMethodGroup,
          .declare_variant = [](OptionTable& table, const std::string& method) -> Action {
            const auto quick = std::make_shared<bool>(false);  // which variant, is decided before
            table.begin_group("Run");
            table
                .add("quick", quick.get(),
                     "a first look in seconds: clusters of the backbone's features, no training")
                .flag_only()
                .usual();
            const Action action = declare_with({}, table, method);
            return [action, quick](Session& session) { action(session); };
          }};
}

}  // namespace protogcd::cli
