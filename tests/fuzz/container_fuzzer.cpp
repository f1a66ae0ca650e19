// Any bytes as a file: extraction, decoding, choosing and rendering must neither crash nor read outside them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "ptx-parser/fatbin/fatbin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptx2cpu;
  const auto extraction =
      ptx::Extract(std::as_bytes(std::span(data, size)), size % 2 == 0 ? "input" : "input.ptx");
  if (!extraction) {
    if (extraction.error().message.empty()) std::abort();
    return 0;
  }
  for (const ptx::Container& container : extraction->containers) {
    if (container.offset + container.size > size) std::abort();
    for (const ptx::Image& image : container.images) {
      const auto decoded = image.Decode();
      if (decoded && decoded->size() > image.size) std::abort();
      if (!decoded && decoded.error().code == ErrorCode::kInternal) std::abort();
    }
    ptx::ChooseImage(container, ptx::Device{90});
  }
  (void)ptx::PtxImages(*extraction);
  (void)ptx::PtxImages(*extraction, "alpha");
  if (ptx::RenderTable(*extraction).empty() || ptx::RenderJson(*extraction).empty()) std::abort();
  return 0;
}
