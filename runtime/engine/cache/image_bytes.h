// The translator's results as bytes: little-endian; equal results have equal bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lowering/translator/translator.h"

namespace ptx2cpu::rt {

std::string BytesOf(const lowering::KernelImage& image);
std::string BytesOf(const lowering::DeclaredVariables& variables);
std::string BytesOf(const lowering::KernelDeclaration& declaration);
// Nothing if the bytes are not such a result. Never reads beyond them.
template <typename T>
std::optional<T> FromBytes(std::string_view bytes);

extern template std::optional<lowering::KernelImage> FromBytes(std::string_view bytes);
extern template std::optional<lowering::DeclaredVariables> FromBytes(std::string_view bytes);
extern template std::optional<lowering::KernelDeclaration> FromBytes(std::string_view bytes);

}  // namespace ptx2cpu::rt
