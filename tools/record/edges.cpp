#include "tools/record/edges.h"

namespace ptx2cpu::rt {

namespace {

constexpr uint64_t kF16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
                             0x3555, 0x4248, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7d01};
constexpr uint64_t kF16Few[] = {0x8000, 0x0001, 0x3c01, 0xc248, 0x7bff, 0x7c00, 0xfc00, 0x7e00};
constexpr uint64_t kBF16[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f80, 0xbf80,
                              0x3eab, 0x4049, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0x7f81};
constexpr uint64_t kBF16Few[] = {0x8000, 0x0001, 0x3f81, 0xc049, 0x7f7f, 0x7f80, 0xff80, 0x7fc0};
constexpr uint64_t kF32[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007fffff,
                             0x00800000, 0x3f800000, 0xbf800000, 0x3eaaaaab, 0x40490fdb,
                             0x4b000001, 0x4f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                             0xff800000, 0x7fc00000, 0x7f800001, 0x3f000000, 0xc0200000};
constexpr uint64_t kF32Few[] = {0x80000000, 0x00000003, 0x3f800001, 0xc0490fdb,
                                0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000};
constexpr uint64_t kF64[] = {0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
                             0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000,
                             0x3fd5555555555555, 0x400921fb54442d18, 0x41e0000000000000, 0x43e0000000000000,
                             0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
                             0x7ff8000000000000, 0x7ff0000000000001, 0x3fe0000000000000, 0xc004000000000000};
constexpr uint64_t kF64Few[] = {0x8000000000000000, 0x0000000000000003, 0x3ff0000000000001,
                                0xc00921fb54442d18, 0x7fefffffffffffff, 0x7ff0000000000000,
                                0xfff0000000000000, 0x7ff8000000000000};
constexpr uint64_t k8[] = {0, 1, 2, 0x0f, 0x10, 0x55, 0x7e, 0x7f, 0x80, 0x81, 0xaa, 0xf0, 0xfe, 0xff};
constexpr uint64_t k16[] = {0,     1,      2,      7,      15,     16,     17,     0xff,
                            0x100, 0x5555, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
constexpr uint64_t k16Few[] = {0, 1, 15, 17, 0x7fff, 0x8000, 0x8001, 0xffff};
constexpr uint64_t k32[] = {0,  1,   2,      7,          8,          31,         32,         33,
                            64, 255, 0x7fff, 0x12345678, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
constexpr uint64_t k32Few[] = {0, 1, 8, 31, 33, 0x7fffffff, 0x80000000, 0xfffffffe};
constexpr uint64_t k64[] = {0,
                            1,
                            2,
                            31,
                            32,
                            63,
                            64,
                            255,
                            0xffffffff,
                            0x100000000,
                            0x123456789abcdef0,
                            0x7fffffffffffffff,
                            0x8000000000000000,
                            0x8000000000000001,
                            0xfffffffffffffffe,
                            0xffffffffffffffff};
constexpr uint64_t k64Few[] = {
    0, 1, 33, 63, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe};

}  // namespace

std::span<const uint64_t> EdgeBits(const ScalarType& type, bool few) {
  const bool is_float = type.kind == ScalarKind::kFloat;
  if (type.size == 1) return std::span(k8).first(few ? 8 : std::size(k8));
  if (type.size == 2 && is_float && type.exponent_bits == 8)
    return few ? std::span<const uint64_t>(kBF16Few) : kBF16;
  if (type.size == 2 && is_float) return few ? std::span<const uint64_t>(kF16Few) : kF16;
  if (type.size == 2) return few ? std::span<const uint64_t>(k16Few) : k16;
  if (type.size == 4 && is_float) return few ? std::span<const uint64_t>(kF32Few) : kF32;
  if (type.size == 4) return few ? std::span<const uint64_t>(k32Few) : k32;
  if (is_float) return few ? std::span<const uint64_t>(kF64Few) : kF64;
  return few ? std::span<const uint64_t>(k64Few) : k64;
}

}  // namespace ptx2cpu::rt
