#include "protogcd/image/formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "protogcd/core/text.h"
#include "protogcd/image/decoders.h"

namespace protogcd {
namespace {

std::string not_built_with(bool is_built, std::string_view library) {
  return is_built ? ""
                  : fmt::format(
                        "this build does not read it: build with {}, or convert it to JPEG "
                        "or PNG",
                        library);
}

std::vector<ImageKind> make_image_kinds() {
  std::vector<ImageKind> kinds = {
      {"jpeg", {"jpg", "jpeg"}, ""},
      {"png", {"png"}, ""},
      {"bmp", {"bmp"}, ""},
      {"gif", {"gif"}, ""},
      {"webp", {"webp"}, not_built_with(reads_webp(), "libwebp")},
      {"tiff", {"tif", "tiff"}, not_built_with(reads_tiff(), "libtiff")},
      {"heic", {"heic", "heif"}, not_built_with(reads_heic(), "libheif and its HEVC decoder")},
      {"avif", {"avif"}, not_built_with(reads_avif(), "libheif and its AV1 decoder")},
  };
  std::ranges::stable_partition(kinds, [](const auto& kind) { return kind.obstacle.empty(); });
  const std::string export_it = "is not read: export it as JPEG, PNG or TIFF";
  const std::string raw = "a camera's raw file " + export_it;
  const std::string microscope = "a microscope's own format " + export_it;
  for (const auto& [name, extensions, obstacle] : std::initializer_list<ImageKind>{
           {"raw",
            {"3fr", "arw", "cr2", "cr3", "crw", "dng", "erf", "kdc", "mrw", "nef", "nrw", "orf",
             "pef", "raf", "rw2", "sr2", "srf", "srw", "x3f"},
            raw},
           {"microscope",
            {"czi", "lif", "lsm", "mrxs", "nd2", "ndpi", "oib", "oif", "scn", "svs", "vsi", "zvi"},
            microscope},
           {"dicom", {"dcm", "dicom"}, "DICOM " + export_it},
           {"photoshop", {"psb", "psd"}, "a Photoshop file " + export_it},
           {"gimp", {"xcf"}, "a GIMP file " + export_it},
           {"svg", {"svg", "svgz"}, "a drawing (SVG) " + export_it},
           {"jpeg2000", {"j2k", "jp2", "jpf", "jpx"}, "JPEG 2000 " + export_it},
           {"jpegxl", {"jxl"}, "JPEG XL " + export_it},
           {"icon", {"ico"}, "an icon " + export_it},
           {"pnm", {"pbm", "pgm", "pnm", "ppm"}, "Netpbm " + export_it},
           {"tga", {"tga"}, "Targa " + export_it},
           {"exr", {"exr"}, "a high dynamic range file " + export_it}}) {
    kinds.push_back({name, extensions, obstacle});
  }
  return kinds;
}

/// A box "ftyp" names the kind of an ISO media file: still images among films.
bool is_heif(std::string_view text) {
  constexpr std::array<std::string_view, 12> kBrands = {"heic", "heix", "heim", "heis",
                                                        "hevc", "hevx", "hevm", "hevs",
                                                        "mif1", "msf1", "avif", "avis"};
  return text.size() >= 12 && text.substr(4, 4) == "ftyp" &&
         std::ranges::find(kBrands, text.substr(8, 4)) != kBrands.end();
}

}  // namespace

ImageFormat detect_image_format(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto starts = [&](std::string_view prefix) { return text.starts_with(prefix); };
  if (starts("\xFF\xD8\xFF")) return ImageFormat::kJpeg;
  if (starts("\x89PNG\r\n\x1A\n")) return ImageFormat::kPng;
  if (starts("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return ImageFormat::kWebp;
  if (starts({"II*\0", 4}) || starts({"MM\0*", 4}) || starts({"II+\0", 4}) || starts({"MM\0+", 4}))
    return ImageFormat::kTiff;
  if (starts("BM")) return ImageFormat::kBmp;
  if (starts("GIF87a") || starts("GIF89a")) return ImageFormat::kGif;
  if (is_heif(text)) return ImageFormat::kHeif;
  return ImageFormat::kUnknown;
}

const std::vector<ImageKind>& image_kinds() {
  static const std::vector<ImageKind> kinds = make_image_kinds();
  return kinds;
}

std::string lower_extension(std::string_view file_name) {
  const std::size_t dot = file_name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return "";
  std::string extension(file_name.substr(dot + 1));
  for (char& letter : extension) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return extension;
}

const ImageKind* kind_of_file_name(std::string_view file_name) {
  const std::string extension = lower_extension(file_name);
  const auto& kinds = image_kinds();
  const auto found = std::ranges::find_if(kinds, [&](const ImageKind& kind) {
    return std::ranges::find(kind.extensions, extension) != kind.extensions.end();
  });
  return found == kinds.end() ? nullptr : &*found;
}

std::vector<std::string> supported_image_formats() {
  std::vector<std::string> names;
  for (const ImageKind& kind : image_kinds()) {
    if (kind.obstacle.empty()) names.push_back(kind.name);
  }
  return names;
}

std::string supported_extensions() {
  std::vector<std::string> extensions;
  for (const ImageKind& kind : image_kinds()) {
    if (kind.obstacle.empty())
      extensions.insert(extensions.end(), kind.extensions.begin(), kind.extensions.end());
  }
  return join(extensions, ", ");
}

}  // namespace protogcd
