#include "protogcd/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>

#include "protogcd/core/error.h"

namespace protogcd::cli {
namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM};

// A handler can reach nothing but globals, and may do little with them: these are lock-free.
std::atomic<bool> guard_lives = false;
std::atomic<int> signals_seen = 0;
std::atomic<const StopToken*> token_of_guard = nullptr;
std::array<struct sigaction, kSignals.size()> previous_actions;
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<const StopToken*>::is_always_lock_free);

extern "C" void protogcd_handle_interrupt(int number) {
  if (signals_seen.fetch_add(1) > 0) ::_exit(128 + number);
  if (const StopToken* token = token_of_guard) token->request_stop();
  const int saved = errno;
  // The line break ends a progress bar.
  constexpr std::string_view kMessage =
      "\nstopping: this step is finished and saved first; press Ctrl-C again to leave at once\n";
  const std::string_view message = ::isatty(STDERR_FILENO) != 0 ? kMessage : kMessage.substr(1);
  if (::write(STDERR_FILENO, message.data(), message.size()) < 0) {
    // Nobody to tell.
  }
  errno = saved;
}

}  // namespace

InterruptGuard::InterruptGuard(const std::optional<StopToken>& of_host)
    : guards_(!of_host), token_(of_host.value_or(StopToken())) {
  if (!guards_) return;
  if (guard_lives.exchange(true)) throw InternalError("InterruptGuard: there is one already");
  signals_seen = 0;
  token_of_guard = &token_;
  struct sigaction action {};
  action.sa_handler = protogcd_handle_interrupt;
  action.sa_flags = SA_RESTART;  // reads and writes in progress go on
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous_actions[i]);
    if (previous_actions[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  if (!guards_) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &previous_actions[i], nullptr);
  }
  token_of_guard = nullptr;
  guard_lives = false;
}

}  // namespace protogcd::cli
