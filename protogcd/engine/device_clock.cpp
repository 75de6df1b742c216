#include "protogcd/engine/device_clock.h"

#include <utility>

namespace protogcd {

c10::Event DeviceClock::make_event() const {
  return c10::Event(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
}

void DeviceClock::begin(const c10::Stream& stream) {
  if (device_.is_cpu()) return;
  pieces_.push_back({make_event(), make_event()});
  pieces_.back().begin.record(stream);
}

void DeviceClock::end(const c10::Stream& stream) {
  if (!device_.is_cpu()) pieces_.back().end.record(stream);
}

DeviceClock::Times DeviceClock::take() {
  Times times;
  const std::vector<Piece> pieces = std::exchange(pieces_, {});
  if (pieces.empty()) return times;
  pieces.back().end.synchronize();
  constexpr double kMilliseconds = 1e-3;
  for (std::size_t i = 1; i < pieces.size(); ++i)
    times.waited += kMilliseconds * pieces[i - 1].end.elapsedTime(pieces[i].begin);
  times.all = kMilliseconds * pieces.front().begin.elapsedTime(pieces.back().end);
  return times;
}

}  // namespace protogcd
