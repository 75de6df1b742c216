// The page: scripts and styles are built in, data are written into it.
#pragma once

#include <string>
#include <string_view>

namespace protogcd {

/// Whether this build holds the page (it needs npm when the program is built).
bool has_report_page();

/// `json` as it may stand between <script> tags: no text of it can end the script or begin a
/// comment.
std::string script_safe(std::string_view json);

/// The whole file. UsageError where the build holds no page, with what is needed for one.
std::string fill_page(std::string_view json);

}  // namespace protogcd
