#include "protogcd/data/sample.h"

namespace protogcd {

std::string_view sample_set_name(SampleSet set) {
  constexpr std::string_view kNames[] = {"labelled", "unlabelled", "test"};
  return kNames[static_cast<int>(set)];
}

}  // namespace protogcd
