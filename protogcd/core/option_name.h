// Public. Options inside messages. The library names an option by its key; each host spells it its
// own way: `k_max` is --k-max on the command line and k_max= in Python.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace protogcd {

/// The option of this key inside a message: its name between two marks that no text of ours has.
/// A message that holds one goes into an Error or a Logger, or through `spelled`.
std::string option_name(std::string_view key);

using OptionSpelling = std::function<std::string(std::string_view key)>;

/// The text with each of its options in this spelling; without one, by their keys.
std::string spelled(std::string_view text, const OptionSpelling& spelling = {});

}  // namespace protogcd
