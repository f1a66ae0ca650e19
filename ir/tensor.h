// The forms of the rows CopyTensor and CopyTensorMulticast: the bits of attrs.index (kImageMode), and the
// tensor map. CUDA leaves the layout of its 128 bytes open, so it is ours: cuTensorMapEncode* writes them,
// kernels change them by tensormap.replace. The numbers are those of runtime/abi/tensor_map.h (the emitter
// checks that).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ptx2cpu::ir::tensor {

inline constexpr uint32_t kMaxDimensions = 5, kMapBytes = 128;

// -- attrs.index --
enum class Mode : uint32_t {
  kTile,
  kGather,
  kIm2col,
  kIm2colWide,
  kIm2colWide128
};  // kGather: of four rows, scatter too
enum class Reduction : uint32_t { kNone, kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

struct Form {
  uint32_t dimensions = 1;
  Mode mode = Mode::kTile;
  bool to_tensor = false;  // from shared memory
  Reduction reduction = Reduction::kNone;
  uint32_t offsets = 0;  // operands after the coordinates

  uint32_t coordinates() const { return mode == Mode::kGather ? 5 : dimensions; }
  friend bool operator==(const Form&, const Form&) = default;
};
constexpr uint32_t Encode(const Form& f) {
  return f.dimensions | static_cast<uint32_t>(f.mode) << 3 | (f.to_tensor ? 1u : 0u) << 6 |
         static_cast<uint32_t>(f.reduction) << 7 | f.offsets << 11;
}
constexpr Form Decode(uint32_t bits) {
  return {bits & 7, static_cast<Mode>(bits >> 3 & 7), (bits >> 6 & 1) != 0,
          static_cast<Reduction>(bits >> 7 & 15), bits >> 11 & 3};
}

// -- the tensor map --
enum class Element : uint8_t {  // the numbers of tensormap.replace
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF32Ftz,
  kF64,
  kBF16,
  kTF32,
  kTF32Ftz,
  kB4x16,
  kB4x16Padded,
  kB6x16
};
enum class Interleave : uint8_t { kNone, k16, k32 };
enum class Swizzle : uint8_t { kNone, k32, k64, k128, k96 };
enum class Fill : uint8_t { kZero, kNan };

struct Map {
  uint64_t address;
  std::array<uint64_t, 4> strides;  // bytes, of dimensions 1 to 4
  std::array<uint32_t, 5> sizes;    // elements; 0 is 2^32
  std::array<uint16_t, 5> box;      // elements
  std::array<uint8_t, 5> element_strides;
  uint8_t rank;  // less one
  Element element;
  Interleave interleave;
  Swizzle swizzle;
  uint8_t swizzle_atomicity;
  Fill fill;
  uint8_t reserved;
  std::array<int16_t, 3> lower, upper;  // im2col: corners of the pixels' box, of dimensions 1 to 3
  uint32_t channels, pixels;            // im2col: of a column
  std::array<uint64_t, 3> unused;
};
static_assert(sizeof(Map) == kMapBytes);
inline constexpr size_t kAddressAt = 0, kStridesAt = 8, kSizesAt = 40, kBoxAt = 60, kElementStridesAt = 70,
                        kRankAt = 75, kElementAt = 76, kInterleaveAt = 77, kSwizzleAt = 78, kAtomicityAt = 79,
                        kFillAt = 80;

}  // namespace ptx2cpu::ir::tensor
