// A kernel's image as bytes: little-endian, the same for the same image.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lowering/llvm/output/kernel_image.h"

namespace ptx2cpu::rt {

std::string BytesOf(const lowering::KernelImage& image);
// Nothing if the bytes are not an image. Never reads beyond them.
std::optional<lowering::KernelImage> ImageOf(std::string_view bytes);

}  // namespace ptx2cpu::rt
