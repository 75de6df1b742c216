// How long a GPU had nothing to do between pieces of work: what better feeding would save.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

#include <vector>

namespace protogcd {

/// On a CPU it measures nothing.
class DeviceClock {
 public:
  explicit DeviceClock(c10::Device device) : device_(device) {}

  /// A piece of work begins and ends on the stream.
  void begin(const c10::Stream& stream);
  void end(const c10::Stream& stream);

  struct Times {
    double waited = 0, all = 0;  ///< seconds
  };
  /// Since the last call: between the end of one piece and the begin of the next, and from the
  /// first begin to the last end. Waits for the last piece.
  Times take();

 private:
  struct Piece {
    c10::Event begin, end;
  };

  c10::Event make_event() const;

  c10::Device device_;
  std::vector<Piece> pieces_;
};

}  // namespace protogcd
