// What an error says, for tests of messages.
#pragma once

#include <string>

#include "protogcd/core/error.h"

namespace protogcd::testing {

/// The message that `action` fails with; "accepted" if it does not fail. Errors of another kind
/// pass through, and fail the test.
template <class Kind = Error, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace protogcd::testing
