// Every verb of the program, in the order `protogcd --help` lists them.
#pragma once

#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

std::vector<Verb> all_verbs();

// One file each: verb_<name>.cpp.
Verb bench_images_verb();
Verb completion_verb();
Verb info_verb();

}  // namespace protogcd::cli
