// The SPEC language: how the tool's --arg, the corpus manifest and the vector files write a kernel argument.
//
// clang-format off
//   TYPE:VALUE                      scalar; TYPE is u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64 b8 b16 b32 b64
//   in:TYPE:LIST                    buffer the kernel reads; LIST is [v,v,...], @FILE (raw bytes) or gen(...)
//   out:TYPE:COUNT                  zero-filled buffer the kernel writes
//   inout:TYPE:LIST                 buffer that is read and written
//   bytes:@FILE, bytes:hex(DIGITS)  struct passed by value
//   texture:OPTIONS:TYPE:LIST, surface:OPTIONS:TYPE:LIST   image.h
//   tensor:OPTIONS:TYPE:LIST        tensor.h
// clang-format on
//
// Integers are decimal or hex (0x...). For a float type hex is the bits; decimal, inf, -inf and nan are
// the value. gen(NAME,COUNT,...) makes data exactly reproducible anywhere; corpus/README.md and generators.h
// define the names. All data is little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "tools/record/image.h"

namespace ptx2cpu::rt {

enum class ScalarKind : uint8_t { kUnsigned, kSigned, kBits, kFloat };

// An element type of the SPEC language. bf16 and f16 share size and kind; `exponent_bits` distinguishes them.
struct ScalarType {
  std::string_view name;
  ScalarKind kind;
  uint8_t size;           // bytes
  uint8_t exponent_bits;  // 0 unless a float
};

// nullptr if `name` is not a type of the language.
const ScalarType* FindScalarType(std::string_view name);

enum class ArgumentRole : uint8_t { kScalar, kIn, kOut, kInOut, kBytes, kTexture, kSurface, kTensor };

// One kernel argument. For scalars and structs `data` is the value that is passed; for buffers it is the
// initial contents of the memory whose address is passed, for images of the image whose handle is passed.
struct Argument {
  ArgumentRole role = ArgumentRole::kScalar;
  const ScalarType* type = nullptr;  // nullptr for kBytes
  std::vector<std::byte> data = {};
  std::shared_ptr<const ImageSpec> image = {};  // kTexture, kSurface, kTensor

  bool IsBuffer() const {
    return role == ArgumentRole::kIn || role == ArgumentRole::kOut || role == ArgumentRole::kInOut;
  }
  bool IsImage() const {
    return role == ArgumentRole::kTexture || role == ArgumentRole::kSurface || IsTensor();
  }
  bool IsTensor() const { return role == ArgumentRole::kTensor; }
  bool IsWritten() const {
    return role == ArgumentRole::kOut || role == ArgumentRole::kInOut || role == ArgumentRole::kSurface ||
           IsTensor();
  }
  bool IsParameter() const { return !IsImage() || image->name.empty(); }  // else bound to a module variable
  size_t count() const { return type ? data.size() / type->size : data.size(); }
};

// Buffers larger than this are refused, so that a mistyped count is an error and not an exhausted machine.
inline constexpr uint64_t kMaxBufferBytes = uint64_t{1} << 33;

// Parses one SPEC. Relative file names are taken from `directory` (default: the working directory).
Result<Argument> ParseSpec(std::string_view spec, const std::filesystem::path& directory = {});

// Parses one VALUE of `type` and appends its bytes.
Status AppendValue(const ScalarType& type, std::string_view text, std::vector<std::byte>& data);

// Prints the element at `bytes`: decimal (floats with 9 or 17 digits, NaN and infinities as JSON strings), or
// with `bits` its bits as a JSON string "0x...".
std::string FormatValue(const ScalarType& type, const std::byte* bytes, bool bits = false);

// {"arg": INDEX, "type": "f32", "values": [...]}
std::string FormatJsonLine(size_t index, const ScalarType& type, const std::vector<std::byte>& data,
                           bool bits = false);

}  // namespace ptx2cpu::rt
