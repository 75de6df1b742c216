// `protogcd completion`: shell completion scripts.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/completion.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"

namespace protogcd::cli {

Verb completion_verb() {
  return {.name = "completion",
          .summary = "print a completion script for your shell",
          .example = "source <(protogcd completion bash)",
          .declare = [](OptionTable& table) -> Action {
            auto shell = std::make_shared<std::string>();
            table.add("shell", shell.get(), "which shell")
                .one_of({"bash", "zsh"})
                .positional()
                .required();
            return [shell](Session&) {
              const auto verbs = all_verbs();
              say_data(*shell == "bash" ? bash_completion(verbs) : zsh_completion(verbs));
            };
          }};
}

}  // namespace protogcd::cli
