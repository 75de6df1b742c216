#include "protogcd/report/page.h"

#include "protogcd/core/error.h"

#ifdef PROTOGCD_REPORT_PAGE
// As in nn/builtin_backbone.cpp: the assembler takes the file in as it is.
asm(R"(
  .pushsection .rodata
protogcd_report_page:
  .incbin ")" PROTOGCD_REPORT_PAGE R"("
protogcd_report_page_end:
  .popsection
  .globl protogcd_report_page, protogcd_report_page_end
  .hidden protogcd_report_page, protogcd_report_page_end
)");

// NOLINTBEGIN(readability-identifier-naming): symbols of the assembler
extern "C" {
__attribute__((visibility("hidden"))) extern const char protogcd_report_page[];
__attribute__((visibility("hidden"))) extern const char protogcd_report_page_end[];
}
// NOLINTEND(readability-identifier-naming)
#endif

namespace protogcd {
namespace {

std::string_view page_template() {
#ifdef PROTOGCD_REPORT_PAGE
  return {protogcd_report_page, protogcd_report_page_end};
#else
  return {};
#endif
}

}  // namespace

bool has_report_page() {
  return !page_template().empty();
}

std::string script_safe(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill_page(std::string_view json) {
  constexpr std::string_view kMark = "/*DATA*/";
  const std::string_view page = page_template();
  if (page.empty()) {
    throw UsageError("this build of protogcd has no report page",
                     "install Node.js with npm, and build again");
  }
  const std::size_t at = page.find(kMark);
  if (at == std::string_view::npos) throw InternalError("the report page has no place for data");
  std::string filled(page.substr(0, at));
  filled += script_safe(json);
  filled += page.substr(at + kMark.size());
  return filled;
}

}  // namespace protogcd
