// Copies between the box of a tensor and shared memory, one element after the other (PTX
// ISA 5.5, 9.7.9.27.1.2).
#include "ir/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/interpret/machine.h"
#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::ir::interpret {

namespace {

using tensor::Mode;
using tensor::Reduction;

// A unit is an element, or sixteen of those that have 4 or 6 bits.
struct ElementType {
  uint32_t bytes, shared_bytes, elements;
  Type type;
};
ElementType TypeOf(tensor::Element element) {
  constexpr ElementType kTypes[] = {
      {1, 1, 1, Type::kI8},  {2, 2, 1, Type::kI16},  {4, 4, 1, Type::kI32},    {4, 4, 1, Type::kI32},
      {8, 8, 1, Type::kI64}, {8, 8, 1, Type::kI64},  {2, 2, 1, Type::kF16},    {4, 4, 1, Type::kF32},
      {4, 4, 1, Type::kF32}, {8, 8, 1, Type::kF64},  {2, 2, 1, Type::kBF16},   {4, 4, 1, Type::kF32},
      {4, 4, 1, Type::kF32}, {8, 8, 16, Type::kI64}, {8, 16, 16, Type::kI128}, {12, 16, 16, Type::kI128},
  };
  return kTypes[static_cast<uint32_t>(element)];
}

// Integers of 32 and 64 bits have all reductions, floats those of arithmetic.
bool Has(Reduction reduction, tensor::Element element) {
  if (reduction == Reduction::kNone) return true;
  if (element >= tensor::Element::kU32 && element <= tensor::Element::kS64) return true;
  const bool is_float = (element >= tensor::Element::kF16 && element <= tensor::Element::kF64) ||
                        element == tensor::Element::kBF16;
  return is_float && reduction <= Reduction::kMax;
}

bool IsSignedType(tensor::Element e) { return e == tensor::Element::kS32 || e == tensor::Element::kS64; }

AtomicOp OperationOf(Reduction reduction, tensor::Element element, Type type) {
  switch (reduction) {
    case Reduction::kNone:
      return AtomicOp::kNone;
    case Reduction::kAdd:
      return IsFloat(type) ? AtomicOp::kFAdd : AtomicOp::kAdd;
    case Reduction::kMin:
      return IsFloat(type) ? AtomicOp::kFMin : IsSignedType(element) ? AtomicOp::kMinS : AtomicOp::kMinU;
    case Reduction::kMax:
      return IsFloat(type) ? AtomicOp::kFMax : IsSignedType(element) ? AtomicOp::kMaxS : AtomicOp::kMaxU;
    case Reduction::kInc:
      return AtomicOp::kInc;
    case Reduction::kDec:
      return AtomicOp::kDec;
    case Reduction::kAnd:
      return AtomicOp::kAnd;
    case Reduction::kOr:
      return AtomicOp::kOr;
    case Reduction::kXor:
      return AtomicOp::kXor;
  }
  return AtomicOp::kNone;
}

class TensorCopy {
 public:
  // Operands from `first` on: coordinates, offsets.
  TensorCopy(Step& s, size_t first) : s_(s), form_(tensor::Decode(s.inst.attrs.index)) {
    for (uint32_t n = 0; n < form_.coordinates(); ++n)
      coordinates_[n] = static_cast<int32_t>(s.Operand32(first + n));
    for (uint32_t n = 0; n < form_.offsets; ++n)
      offsets_[n] = static_cast<int32_t>(s.Operand32(first + form_.coordinates() + n) & 0xffff);
  }

  Status ReadMap(uint64_t address) {
    const std::byte* at = TRY(Locate(s_, Space::kGeneric, address, tensor::kMapBytes, 64, Access::kRead));
    std::memcpy(&map_, at, sizeof(map_));
    if (map_.rank + 1u != form_.dimensions || static_cast<uint32_t>(map_.element) > 15)
      return s_.Fault(fmt::format("the tensor map at {:#x} has not the {} dimensions of the copy", address,
                                  form_.dimensions));
    if (map_.interleave != tensor::Interleave::kNone || map_.swizzle_atomicity > 3 ||
        map_.swizzle > tensor::Swizzle::k128)
      return s_.Fault("tensor maps with interleaved layouts, or swizzles of 96 bytes, are not supported");
    if (!Has(form_.reduction, map_.element))
      return s_.Fault(fmt::format("elements of the type {} of the tensor map have no such reduction",
                                  static_cast<uint32_t>(map_.element)));
    type_ = TypeOf(map_.element);
    return {};
  }

  // Bytes of shared memory, from the offset of `window` on.
  Result<uint32_t> Run(Machine& window, uint64_t offset) {
    window_ = &window;
    offset_ = offset;
    units_ = rows_ = 0;
    if (form_.mode >= Mode::kIm2col) {
      TRY_STATUS(CopyPixels());
    } else if (form_.mode == Mode::kGather) {
      for (uint32_t row = 0; row < 4; ++row) {
        std::array<int64_t, 5> at{coordinates_[0], coordinates_[1 + row]};
        TRY_STATUS(CopyRow(at, map_.box[0]));
      }
    } else {
      std::array<int64_t, 5> at{};
      TRY_STATUS(CopyBox(form_.dimensions - 1, at));
    }
    return units_ * type_.shared_bytes;
  }

 private:
  int64_t Size(uint32_t dimension) const {
    const int64_t size = map_.sizes[dimension] == 0 ? int64_t{1} << 32 : map_.sizes[dimension];
    return dimension == 0 ? size / type_.elements : size;
  }
  uint32_t Stride(uint32_t dimension) const { return std::max<uint32_t>(map_.element_strides[dimension], 1); }

  Status CopyBox(uint32_t dimension, std::array<int64_t, 5>& at) {
    if (dimension == 0) {
      at[0] = coordinates_[0];
      return CopyRow(at, map_.box[0]);
    }
    for (uint32_t n = 0; n < map_.box[dimension]; n += Stride(dimension)) {
      at[dimension] = int64_t{coordinates_[dimension]} + n;
      TRY_STATUS(CopyBox(dimension - 1, at));
    }
    return {};
  }

  // Pixels follow each other within the corners; then the next row begins, and at last the next image.
  Status CopyPixels() {
    const uint32_t last = form_.dimensions - 1;
    std::array<int64_t, 5> position{};
    for (uint32_t d = 0; d < form_.dimensions; ++d) position[d] = coordinates_[d];
    for (uint32_t pixel = 0; pixel < map_.pixels; ++pixel) {
      std::array<int64_t, 5> at = position;
      for (uint32_t d = 1; d < last && d - 1 < form_.offsets; ++d) at[d] += offsets_[d - 1];
      TRY_STATUS(CopyRow(at, map_.channels));
      uint32_t d = 1;
      for (; d < last; ++d) {
        position[d] += Stride(d);
        if (position[d] <= Size(d) - 1 + map_.upper[d - 1]) break;
        position[d] = map_.lower[d - 1];
      }
      if (d == last) ++position[last];
    }
    return {};
  }

  // `count` elements along dimension 0. A row of a swizzled box begins with the span of the swizzle.
  Status CopyRow(std::array<int64_t, 5> at, uint32_t count) {
    at[0] /= type_.elements;
    const uint32_t bytes = count / type_.elements * type_.shared_bytes;
    next_ = offset_ + uint64_t{rows_++} * (map_.swizzle == tensor::Swizzle::kNone ? bytes : SpanOfSwizzle());
    for (uint32_t n = 0; n < count / type_.elements; ++n, ++at[0]) TRY_STATUS(CopyUnit(at));
    return {};
  }

  Status CopyUnit(const std::array<int64_t, 5>& at) {
    bool inside = true;
    uint64_t address = map_.address + static_cast<uint64_t>(at[0]) * type_.bytes;
    for (uint32_t d = 0; d < form_.dimensions; ++d) {
      inside &= at[d] >= 0 && at[d] < Size(d);
      if (d > 0) address += static_cast<uint64_t>(at[d]) * map_.strides[d - 1];
    }
    const uint64_t offset = Swizzled(next_);
    next_ += type_.shared_bytes;
    ++units_;
    if (offset + type_.shared_bytes > window_->shared.size())
      return s_.Fault(fmt::format("the box ends at {} bytes of shared memory, the block has {}",
                                  offset + type_.shared_bytes, window_->shared.size()));
    std::byte* shared = window_->shared.data() + offset;
    if (form_.to_tensor) return inside ? Store(address, shared) : Status{};
    if (!inside) {
      Fill(shared);
      return {};
    }
    const std::byte* from = TRY(Locate(s_, Space::kGeneric, address, type_.bytes, 1, Access::kRead));
    std::memcpy(shared, from, type_.bytes);
    if (map_.element == tensor::Element::kTF32 || map_.element == tensor::Element::kTF32Ftz)
      RoundToTf32(shared);
    return {};
  }

  // To nearest, ties to even. NaN becomes one NaN.
  static void RoundToTf32(std::byte* shared) {
    constexpr uint32_t kDropped = 0x1fff, kNan = 0x7fffe000;
    const auto bits = static_cast<uint32_t>(Fetch(shared, Type::kI32));
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    Put(shared, Type::kI32, is_nan ? kNan : (bits + kDropped / 2 + (bits >> 13 & 1)) & ~kDropped);
  }

  void Fill(std::byte* shared) const {
    const bool is_nan = map_.fill == tensor::Fill::kNan && IsFloat(type_.type);
    for (uint32_t n = 0; n < type_.bytes; ++n)
      shared[n] = std::byte{static_cast<uint8_t>(!is_nan ? 0 : n % 2 == 0 ? 0xf7 : 0x7f)};
  }

  Status Store(uint64_t address, const std::byte* shared) {
    std::byte* to = TRY(Locate(s_, Space::kGeneric, address, type_.bytes, 1, Access::kReadWrite));
    if (map_.element == tensor::Element::kB6x16) {  // of each byte six bits
      Bits128 packed = 0;
      for (uint32_t n = 0; n < 16; ++n)
        packed |= static_cast<Bits128>(std::to_integer<uint32_t>(shared[n]) & 63) << 6 * n;
      std::memcpy(to, &packed, type_.bytes);
    } else if (form_.reduction == Reduction::kNone) {
      std::memcpy(to, shared, type_.bytes);
    } else {
      const AtomicOp op = OperationOf(form_.reduction, map_.element, type_.type);
      Put(to, type_.type,
          Combine(op, type_.type, Fetch(to, type_.type), Fetch(shared, type_.type),
                  map_.element == tensor::Element::kF32Ftz ? uint32_t{kFtz} : 0));
    }
    return {};
  }

  uint32_t SpanOfSwizzle() const { return 16u << static_cast<uint32_t>(map_.swizzle); }
  uint64_t Swizzled(uint64_t offset) const {
    if (map_.swizzle == tensor::Swizzle::kNone) return offset;
    const uint64_t rows = (uint64_t{1} << static_cast<uint32_t>(map_.swizzle)) - 1, row = offset >> 7;
    // Which bits of the row exchange units of 16 bytes, 32, 32 (with halves in every other row), 64.
    struct Unit {
      uint64_t rows;
      uint32_t bits;
      uint64_t halves;
    };
    const Unit units[] = {{rows, 4, 0}, {3, 5, 0}, {3, 5, 1}, {1, 6, 0}};
    const Unit& unit = units[std::min<uint32_t>(map_.swizzle_atomicity, 3)];
    return offset ^ (row & unit.rows) << unit.bits ^ (row & unit.halves) << 3;
  }

  Step& s_;
  const tensor::Form form_;
  tensor::Map map_{};
  ElementType type_{};
  std::array<int32_t, 5> coordinates_{}, offsets_{};
  Machine* window_ = nullptr;
  uint64_t offset_ = 0;
  uint64_t next_ = 0;              // offset of the next unit, before the swizzle
  uint32_t units_ = 0, rows_ = 0;  // done
};

constexpr uint32_t kSharedAlign = 128;

}  // namespace

Status ExecuteCopyTensor(Step& s) {
  const uint64_t address = s.Operand64(1);
  Machine* window = BlockOfShared(s.machine, address);
  if (window == nullptr)
    return s.Fault(fmt::format("a tensor is copied to or from {:#x}, which is not shared memory", address));
  const uint64_t offset = address - reinterpret_cast<uint64_t>(window->shared.data());
  if (offset % kSharedAlign != 0)
    return s.Fault(fmt::format("a tensor is copied to or from shared offset {}: not a multiple of {}", offset,
                               kSharedAlign));
  TensorCopy copy(s, 2);
  TRY_STATUS(copy.ReadMap(s.Operand64(0)));
  s.Return(TRY(copy.Run(*window, offset)));
  return {};
}

Status ExecuteCopyTensorMulticast(Step& s) {
  const uint64_t offset = s.Operand64(1);
  const uint32_t mask = s.Operand32(3);
  if (offset % kSharedAlign != 0)
    return s.Fault(
        fmt::format("a tensor is copied to shared offset {}: not a multiple of {}", offset, kSharedAlign));
  TensorCopy copy(s, 4);
  TRY_STATUS(copy.ReadMap(s.Operand64(0)));
  for (uint32_t rank = 0; mask >> rank != 0; ++rank) {
    if ((mask >> rank & 1) == 0) continue;
    if (rank >= s.machine.cluster.blocks.size())
      return s.Fault(fmt::format("the cluster has no block {}, which the mask {:#06x} names", rank, mask));
    Machine& window = *s.machine.cluster.blocks[rank];
    const uint64_t bytes = TRY(copy.Run(window, offset));
    std::byte* object =
        TRY(Locate(s, Space::kGeneric, reinterpret_cast<uint64_t>(window.shared.data()) + s.Operand64(2), 8,
                   8, Access::kReadWrite));
    const uint64_t change = ((uint64_t{0} - bytes) & mbarrier::kBytesMask) << mbarrier::kBytesShift;
    Put(object, Type::kI64, mbarrier::Update(static_cast<uint64_t>(Fetch(object, Type::kI64)), change));
  }
  return {};
}

}  // namespace ptx2cpu::ir::interpret
