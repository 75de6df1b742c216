// Bytes as text that a data URL can hold (RFC 4648).
#pragma once

#include <string>
#include <string_view>

namespace protogcd {

std::string base64(std::string_view bytes);

}  // namespace protogcd
