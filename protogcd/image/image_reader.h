// Files to views, many in a row: decode, resize and crop in one go. Of a large JPEG
// only the part that the crop needs is decoded, only the pixels of the crop are computed, and all
// buffers are reused.
//
//   ImageReader reader(options);               // one per thread
//   Image view;
//   if (auto bad = reader.read_center_view(path, {}, view)) skip(path, bad->reason);
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "protogcd/image/decode.h"
#include "protogcd/image/decoders.h"
#include "protogcd/image/image.h"
#include "protogcd/image/resize.h"

namespace protogcd {

class ImageReader {
 public:
  explicit ImageReader(const DecodeOptions& options = {}) : options_(options) {}

  /// Resized to view.short_side and cropped in the middle: the evaluation view. The same pixels as
  /// decode_image, resize_short_side and the crop one after another.
  MaybeBad read_center_view(const std::filesystem::path& path, const ViewSize& view, Image& output);
  MaybeBad decode_center_view(std::span<const std::byte> bytes, const ViewSize& view,
                              Image& output);

  /// Resized to the short side, whole: what random crops are taken from.
  MaybeBad read_resized(const std::filesystem::path& path, int short_side, Image& output);
  MaybeBad decode_resized(std::span<const std::byte> bytes, int short_side, Image& output);

  /// A part of the upright image, at its full size; what leaves the image is cut off. Bad where
  /// nothing is left.
  MaybeBad read_part(const std::filesystem::path& path, const ImageBox& part, Image& output);

  /// Of the last image that was decoded: its own size, or with fast decoding the reduced one.
  ImageSize decoded_size() const { return decoded_.full; }

 private:
  DecodeOptions options_;
  Resizer resizer_;
  PartialImage decoded_;
  std::vector<std::byte> file_;
};

}  // namespace protogcd
