#include "protogcd/image/decode.h"

namespace protogcd {

std::vector<std::string> supported_image_formats() {
  std::vector<std::string> formats = {"jpeg", "png"};
#ifdef PROTOGCD_WITH_WEBP
  formats.emplace_back("webp");
#endif
  return formats;
}

}  // namespace protogcd
