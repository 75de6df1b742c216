// What a request comes to, in the library's own options. Not public.
#pragma once

#include "protogcd/api/discover.h"
#include "protogcd/discovery/discover.h"

namespace protogcd {

/// Resolved. UsageError names an option that is not known or not allowed.
DiscoverOptions options_of(const DiscoverRequest& request, const Context& context);

/// The context in which they are carried out: where it leaves the dtype open, as_published has its
/// own.
Context context_for(const DiscoverOptions& options, Context context);

}  // namespace protogcd
