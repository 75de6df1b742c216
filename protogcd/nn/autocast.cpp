#include "protogcd/nn/autocast.h"

#include <ATen/autocast_mode.h>

namespace protogcd {

Autocast::Autocast(c10::DeviceType device, c10::ScalarType type)
    : device_(device),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      type_before_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::increment_nesting();
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, type);
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, type_before_);
}

}  // namespace protogcd
