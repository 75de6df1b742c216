#include "protogcd/cli/shard_option.h"

#include <fmt/core.h>

#include "protogcd/cli/terminal.h"
#include "protogcd/core/json.h"
#include "protogcd/data/shard.h"

namespace protogcd::cli {

void declare_shard(OptionTable& table, std::string& shard) {
  table
      .add("shard", &shard,
           "part i of n of the images alone, into a file of its own; `protogcd gather` joins them")
      .matching(Shard::is_text, Shard::kWords)
      .value_name("i/n")
      .flag_only();
}

void tell_finished_shard(const std::filesystem::path& out, const Session& session) {
  if (session.json()) return session.print_json({{"out", out.string()}, {"was_finished", true}});
  say("{}: finished already\n", out.string());
}

}  // namespace protogcd::cli
