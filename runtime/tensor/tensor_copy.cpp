#include "runtime/tensor/tensor_copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/abi/abi.h"
#include "runtime/tensor/reduce.h"

namespace ptx2cpu::rt::tensor {

namespace {

struct ElementType {
  uint8_t bytes, shared_bytes, elements;  // of a unit: an element, or sixteen of 4 or 6 bits
  bool is_float;
};
constexpr ElementType kTypes[PTX2CPU_TENSOR_ELEMENTS] = {
    {1, 1, 1, false}, {2, 2, 1, false},  {4, 4, 1, false},   {4, 4, 1, false},
    {8, 8, 1, false}, {8, 8, 1, false},  {2, 2, 1, true},    {4, 4, 1, true},
    {4, 4, 1, true},  {8, 8, 1, true},   {2, 2, 1, true},    {4, 4, 1, true},
    {4, 4, 1, true},  {8, 8, 16, false}, {8, 16, 16, false}, {12, 16, 16, false}};

uint32_t NumberOfReduction(uint32_t form) { return form >> PTX2CPU_TENSOR_REDUCTION_SHIFT & 15; }

constexpr uint32_t kChunk = 16;  // bytes that a swizzle keeps together

class BoxCopy {
 public:
  BoxCopy(const ptx2cpu_tensor_map& map, uint8_t* window, uint64_t offset, const uint32_t* words,
          uint32_t form)
      : map_(map),
        type_(kTypes[map.element]),
        window_(window),
        offset_(offset),
        words_(words),
        form_(form),
        dimensions_(form & PTX2CPU_TENSOR_DIMENSIONS),
        stores_((form & PTX2CPU_TENSOR_STORES) != 0),
        reduction_(ReductionOf(NumberOfReduction(form), map.element)) {}

  uint32_t Run() {
    const uint32_t mode = form_ >> PTX2CPU_TENSOR_MODE_SHIFT & 7;
    if (mode >= PTX2CPU_TENSOR_IM2COL) {
      CopyPixels();
    } else if (mode == PTX2CPU_TENSOR_GATHER) {
      for (uint32_t row = 0; row < 4; ++row) {
        int64_t at[5] = {Coordinate(0), Coordinate(1 + row)};
        CopyRow(at, map_.box[0]);
      }
    } else {
      int64_t at[5] = {};
      CopyBox(dimensions_ - 1, at);
    }
    return done_;
  }

 private:
  int64_t Coordinate(uint32_t n) const { return static_cast<int32_t>(words_[n]); }
  int64_t Size(uint32_t d) const { return map_.sizes[d] == 0 ? int64_t{1} << 32 : map_.sizes[d]; }
  uint32_t Stride(uint32_t d) const { return std::max<uint32_t>(map_.element_strides[d], 1); }

  void CopyBox(uint32_t dimension, int64_t* at) {
    if (dimension == 0) {
      at[0] = Coordinate(0);
      return CopyRow(at, map_.box[0]);
    }
    for (uint32_t n = 0; n < map_.box[dimension]; n += Stride(dimension)) {
      at[dimension] = Coordinate(dimension) + n;
      CopyBox(dimension - 1, at);
    }
  }

  void CopyPixels() {
    const uint32_t last = dimensions_ - 1, offsets = form_ >> PTX2CPU_TENSOR_OFFSETS_SHIFT & 3;
    int64_t position[5] = {};
    for (uint32_t d = 0; d < dimensions_; ++d) position[d] = Coordinate(d);
    for (uint32_t pixel = 0; pixel < map_.pixels; ++pixel) {
      int64_t at[5];
      std::copy_n(position, 5, at);
      for (uint32_t d = 1; d < last && d - 1 < offsets; ++d) at[d] += words_[dimensions_ + d - 1] & 0xffff;
      CopyRow(at, map_.channels);
      uint32_t d = 1;
      for (; d < last; ++d) {
        position[d] += Stride(d);
        if (position[d] <= Size(d) - 1 + map_.upper[d - 1]) break;
        position[d] = map_.lower[d - 1];
      }
      if (d == last) ++position[last];
    }
  }

  // `count` elements along dimension 0: those before the tensor, in it, and after it.
  void CopyRow(const int64_t* at, uint32_t count) {
    uint8_t* row = nullptr;
    const int64_t units = count / type_.elements, size = Size(0) / type_.elements,
                  first = at[0] / type_.elements;
    bool inside = true;
    auto address = map_.address;
    for (uint32_t d = 1; d < dimensions_; ++d) {
      inside = inside && at[d] >= 0 && at[d] < Size(d);
      address += static_cast<uint64_t>(at[d]) * map_.strides[d - 1];
    }
    const int64_t begin = inside ? std::clamp<int64_t>(-first, 0, units) : units;
    const int64_t end = inside ? std::clamp<int64_t>(size - first, begin, units) : units;
    row = reinterpret_cast<uint8_t*>(address) + first * type_.bytes;
    const bool is_plain = type_.bytes == type_.shared_bytes && !Reduces() && !(IsTf32() && !stores_);
    // A row of a swizzled box begins with the span of the swizzle.
    const uint64_t pitch = map_.swizzle == 0 ? static_cast<uint64_t>(units) * type_.shared_bytes
                                             : uint64_t{kChunk} << map_.swizzle;
    const uint64_t first_place = offset_ + rows_++ * pitch, done_before = done_;
    for (int64_t unit = 0; unit < units;) {
      // Up to the next border of the tensor or of a chunk.
      const int64_t border = unit < begin ? begin : unit < end ? end : units;
      const uint64_t place = first_place + done_ - done_before;
      const uint32_t chunk = map_.swizzle_atomicity == 2 ? kChunk / 2 : kChunk;
      const int64_t in_chunk = std::max<int64_t>((chunk - place % chunk) / type_.shared_bytes, 1);
      const int64_t take = std::min(border - unit, is_plain && map_.swizzle == 0 ? units : in_chunk);
      uint8_t* shared = window_ + Swizzled(place);
      const bool is_inside = unit >= begin && unit < end;
      if (is_inside && is_plain) {
        const auto bytes = static_cast<size_t>(take * type_.bytes);
        if (stores_)
          std::memcpy(row + unit * type_.bytes, shared, bytes);
        else
          std::memcpy(shared, row + unit * type_.bytes, bytes);
      } else {
        for (int64_t n = 0; n < take; ++n)
          CopyUnit(row + (unit + n) * type_.bytes, shared + n * type_.shared_bytes, is_inside);
      }
      done_ += static_cast<uint32_t>(take) * type_.shared_bytes;
      unit += take;
    }
  }

  bool IsTf32() const {
    return map_.element == PTX2CPU_TENSOR_TF32 || map_.element == PTX2CPU_TENSOR_TF32_FTZ;
  }
  static void RoundToTf32(uint8_t* shared) {
    constexpr uint32_t kDropped = 0x1fff, kNan = 0x7fffe000;
    uint32_t bits;
    std::memcpy(&bits, shared, sizeof(bits));
    bits = (bits & 0x7fffffff) > 0x7f800000 ? kNan : (bits + kDropped / 2 + (bits >> 13 & 1)) & ~kDropped;
    std::memcpy(shared, &bits, sizeof(bits));
  }
  bool Reduces() const { return reduction_ != nullptr; }

  void CopyUnit(uint8_t* global, uint8_t* shared, bool is_inside) const {
    if (stores_) {
      if (is_inside) Store(global, shared);
    } else if (is_inside) {
      std::memcpy(shared, global, type_.bytes);
      if (IsTf32()) RoundToTf32(shared);
    } else {
      const bool is_nan = map_.fill != 0 && type_.is_float;
      for (uint32_t n = 0; n < type_.bytes; ++n) shared[n] = !is_nan ? 0 : n % 2 == 0 ? 0xf7 : 0x7f;
    }
  }

  void Store(uint8_t* global, const uint8_t* shared) const {
    if (map_.element == PTX2CPU_TENSOR_B6X16) {  // of each byte six bits
      for (uint32_t n = 0; n < 16; n += 4) {
        const uint32_t bits = (shared[n] & 63u) | (shared[n + 1] & 63u) << 6 | (shared[n + 2] & 63u) << 12 |
                              (shared[n + 3] & 63u) << 18;
        std::memcpy(global + n / 4 * 3, &bits, 3);
      }
    } else if (Reduces()) {
      reduction_(global, shared);
    } else {
      std::memcpy(global, shared, type_.bytes);
    }
  }

  uint64_t Swizzled(uint64_t place) const {
    if (map_.swizzle == 0) return place;
    if (map_.swizzle_atomicity == 0) return place ^ (place >> 7 & ((1u << map_.swizzle) - 1)) << 4;
    // For rows of 128 bytes. With atoms of 32 bytes, the halves of every other 16 bytes may also be
    // exchanged.
    if (map_.swizzle_atomicity == 3) return place ^ (place >> 7 & 1) << 6;
    const uint64_t moved = place ^ (place >> 7 & 3) << 5;
    return map_.swizzle_atomicity == 2 ? moved ^ (place >> 7 & 1) << 3 : moved;
  }

  const ptx2cpu_tensor_map& map_;
  const ElementType& type_;
  uint8_t* const window_;
  const uint64_t offset_;
  const uint32_t* const words_;
  const uint32_t form_, dimensions_;
  const bool stores_;
  const Reduction reduction_;
  uint32_t done_ = 0;  // bytes of shared memory
  uint64_t rows_ = 0;
};

}  // namespace

uint32_t Copy(const ptx2cpu_tensor_map& map, uint8_t* window, uint64_t offset, const uint32_t* words,
              uint32_t form) {
  if (map.rank + 1u != (form & PTX2CPU_TENSOR_DIMENSIONS) || map.element >= PTX2CPU_TENSOR_ELEMENTS ||
      map.interleave != 0 || map.swizzle > 3 || map.swizzle_atomicity > 3)
    return kNoBytes;
  if (NumberOfReduction(form) != PTX2CPU_TENSOR_NONE &&
      ReductionOf(NumberOfReduction(form), map.element) == nullptr)
    return kNoBytes;
  return BoxCopy(map, window, offset, words, form).Run();
}

}  // namespace ptx2cpu::rt::tensor

extern "C" uint32_t ptx2cpu_copy_tensor(ptx2cpu_block* block, const ptx2cpu_tensor_map* map, uint64_t shared,
                                        const uint32_t* words, uint32_t form) {
  constexpr uint64_t kSharedAlign = 128, kOffsetMask = (uint64_t{1} << PTX2CPU_CLUSTER_NUMBER_SHIFT) - 1;
  const uint64_t place = ptx2cpu_cluster_offset(block, shared), offset = place & kOffsetMask;
  if (place == ~uint64_t{0} || offset % kSharedAlign != 0) return ptx2cpu::rt::tensor::kNoBytes;
  return ptx2cpu::rt::tensor::Copy(*map, reinterpret_cast<uint8_t*>(shared - offset), offset, words, form);
}
