// `protogcd corrupt`: images as noise, blur, weather and compression leave them.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "protogcd/cli/corruption_options.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/corrupted_folder.h"
#include "protogcd/image/encode.h"

namespace protogcd::cli {
namespace {

struct CorruptVerbOptions {
  CorruptOptions folders;
  std::string corruptions = "all";
  std::string severities = "1,2,3,4,5";
  std::filesystem::path sheet;
};

void print_json(const Session& session, const CorruptOptions& options,
                const CorruptSummary& summary) {
  std::vector<std::string> names;
  for (const Corruption* corruption : options.corruptions) names.emplace_back(corruption->name);
  session.print_json({{"out", options.out.string()},
                      {"seed", session.context.seed},
                      {"corruptions", names},
                      {"severities", options.severities},
                      {"images", summary.images},
                      {"skipped", summary.skipped},
                      {"files", summary.files}});
}

void corrupt_images(CorruptVerbOptions options, Session& session) {
  CorruptOptions& folders = options.folders;
  folders.corruptions = parse_corruptions(options.corruptions);
  folders.severities = parse_severities(options.severities);
  if (!options.sheet.empty()) check_output_file(options.sheet, folders.overwrite, "sheet");
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const auto summary = write_corrupted_images(folders, session.bad_image_policy(), context);
  if (!options.sheet.empty()) write_png(options.sheet, corruption_sheet(folders, context.seed));
  if (session.json()) {
    print_json(session, folders, summary);
    return;
  }
  say("{}: {} images, {} corruptions, {} severities: {} files\n", folders.out.string(),
      summary.images, folders.corruptions.size(), folders.severities.size(), summary.files);
  if (summary.skipped > 0) say("{} images skipped, see skipped.csv\n", summary.skipped);
}

}  // namespace

Verb corrupt_verb() {
  return {.name = "corrupt",
          .summary = "corrupted copies of images: noise, blur, weather, compression",
          .example =
              "protogcd corrupt --images photos --out photos-c --corruptions fog,snow "
              "--severities 1,3,5 --sheet sheet.png",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<CorruptVerbOptions>();
            auto& folders = options->folders;
            table.add("images", &folders.images, "a folder of images, any nesting")
                .value_name("DIR")
                .required();
            table
                .add("out", &folders.out,
                     "folder to write: <corruption>/<severity>/<path of the image>.png")
                .value_name("DIR")
                .required();
            table
                .add("corruptions", &options->corruptions,
                     "all, or names: " + join(corruption_names(), ", "))
                .value_name("NAME,NAME");
            table.add("severities", &options->severities, "of 1 (slight) to 5").value_name("N,N");
            table
                .add("sheet", &options->sheet,
                     "also write a contact sheet of the first image, one corruption a row")
                .value_name("FILE.png");
            table
                .add("overwrite", &folders.overwrite,
                     "replace an earlier folder of corrupted images, and its sheet")
                .flag_only();
            return [options](Session& session) { corrupt_images(*options, session); };
          }};
}

}  // namespace protogcd::cli
