#include "protogcd/api/class_number.h"

#include "protogcd/api/request_options.h"

namespace protogcd {

ClassNumber estimate_class_number(const DiscoverRequest& request, const Context& context) {
  return estimate_class_number(options_of(request, context), context);
}

}  // namespace protogcd
