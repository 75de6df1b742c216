// Shell completion scripts, made from the verbs' option tables.
#pragma once

#include <string>
#include <vector>

#include "protogcd/cli/verb.h"

namespace protogcd::cli {

std::string bash_completion(const std::vector<Verb>& verbs);
std::string zsh_completion(const std::vector<Verb>& verbs);

}  // namespace protogcd::cli
