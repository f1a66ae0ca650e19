#include "ir/float_format.h"

#include "ir/result.h"

namespace ptx2cpu::ir {

namespace {

constexpr FloatFormat kF16Format = {5, 10, 15, 0, true, true, 0x7BFF, 0x7FFF, 0x8000};
constexpr FloatFormat kBF16Format = {8, 7, 127, 0, true, true, 0x7F7F, 0x7FFF, 0x8000};
constexpr FloatFormat kF32Format = {8, 23, 127, 0, true, true, 0x7F7FFFFF, 0x7FFFFFFF, 0x80000000};
constexpr FloatFormat kF64Format = {
    11, 52, 1023, 0, true, true, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000, 0x8000000000000000};
constexpr FloatFormat kTF32Format = {8, 10, 127, 13, true, true, 0x3FBFF, 0x7FFFE000, 0x80000000};
constexpr FloatFormat kE4M3Format = {4, 3, 7, 0, false, true, 0x7E, 0x7F, 0x80};
constexpr FloatFormat kE5M2Format = {5, 2, 15, 0, true, true, 0x7B, 0x7F, 0x80};
constexpr FloatFormat kE2M3Format = {2, 3, 1, 0, false, false, 0x1F, 0x1F, 0x20};
constexpr FloatFormat kE3M2Format = {3, 2, 3, 0, false, false, 0x1F, 0x1F, 0x20};
constexpr FloatFormat kE2M1Format = {2, 1, 1, 0, false, false, 0x7, 0x7, 0x8};

}  // namespace

const FloatFormat& FormatOf(Type type) {
  switch (type) {
    case Type::kF16:
      return kF16Format;
    case Type::kBF16:
      return kBF16Format;
    case Type::kF32:
      return kF32Format;
    default:
      CHECK(type == Type::kF64, "not a float type");
      return kF64Format;
  }
}

const FloatFormat& FormatOf(NarrowFormat format) {
  switch (format) {
    case NarrowFormat::kTF32:
      return kTF32Format;
    case NarrowFormat::kE4M3:
      return kE4M3Format;
    case NarrowFormat::kE5M2:
      return kE5M2Format;
    case NarrowFormat::kE2M3:
      return kE2M3Format;
    case NarrowFormat::kE3M2:
      return kE3M2Format;
    default:
      CHECK(format == NarrowFormat::kE2M1, "not a signed narrow format");
      return kE2M1Format;
  }
}

int FieldBits(NarrowFormat format) {
  if (format == NarrowFormat::kTF32) return 32;
  return format == NarrowFormat::kE2M1 ? 4 : 8;
}

RandomField RandomFieldOf(NarrowFormat format, size_t position) {
  constexpr int kByteOf[] = {24, 8, 16, 0};
  if (format == NarrowFormat::kE2M1) return {kByteOf[position & 3], 8};
  return {position < 2 ? 16 : 0, 16};
}

}  // namespace ptx2cpu::ir
