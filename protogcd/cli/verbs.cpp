#include "protogcd/cli/verbs.h"

namespace protogcd::cli {

std::vector<Verb> all_verbs() {
  return {bench_images_verb(), info_verb(), completion_verb()};
}

}  // namespace protogcd::cli
