// How a verb joins the processes that a launcher started beside it (docs/scaling.md).
#pragma once

#include <cstdint>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

void declare_processes(OptionTable& table, std::int64_t& timeout_seconds);
/// Waits for the others and makes the context theirs: its place, its part of the machine's threads
/// and its GPU. Only the first process speaks. Where there are no others it only learns the name of
/// the launcher's job. Returns how often the launcher began all of them again.
int join_processes_of(Session& session, std::int64_t timeout_seconds);

}  // namespace protogcd::cli
