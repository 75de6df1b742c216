#include "protogcd/api/class_number.h"

#include "protogcd/api/request_options.h"

namespace protogcd {

ClassNumber estimate_class_number(const DiscoverRequest& request, const Context& context) {
  const DiscoverOptions options = options_of(request, context);
  return estimate_class_number(options, context_for(options, context));
}

}  // namespace protogcd
