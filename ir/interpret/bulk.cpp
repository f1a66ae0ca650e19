// Bulk copies and reductions between real addresses.
#include <fmt/format.h>

#include <cstring>

#include "ir/interpret/machine.h"
#include "runtime/abi/mbarrier.h"

namespace ptx2cpu::ir::interpret {

namespace {

constexpr uint32_t kBulkAlign = 16;

Status CheckSize(Step& s, uint32_t bytes, uint32_t align) {
  if (bytes % align == 0) return {};
  return s.Fault(fmt::format("bulk operation of {} bytes: not a multiple of {}", bytes, align));
}

Status Copy(Step& s, uint64_t to_address, uint64_t from_address, uint32_t bytes, uint32_t source_bytes,
            uint32_t align) {
  TRY_STATUS(CheckSize(s, bytes, align));
  source_bytes = std::min(source_bytes, bytes);
  std::byte* to = TRY(Locate(s, Space::kGeneric, to_address, bytes, align, Access::kWrite));
  if (source_bytes != 0) {
    std::byte* from = TRY(Locate(s, Space::kGeneric, from_address, source_bytes, align, Access::kRead));
    std::memmove(to, from, source_bytes);
  }
  std::memset(to + source_bytes, 0, bytes - source_bytes);
  return {};
}

}  // namespace

Status ExecuteCopyBulk(Step& s) {
  const uint32_t bytes = s.Operand32(2);
  if (bytes == 0) return {};
  return Copy(s, s.Operand64(0), s.Operand64(1), bytes, s.Operand32(3), s.inst.attrs.align);
}

Status ExecuteCopyMulticast(Step& s) {
  const uint32_t bytes = s.Operand32(2), mask = s.Operand32(4);
  const uint64_t change = (uint64_t{0} - bytes & mbarrier::kBytesMask) << mbarrier::kBytesShift;
  for (uint32_t rank = 0; mask >> rank != 0; ++rank) {
    if ((mask >> rank & 1) == 0) continue;
    if (rank >= s.machine.cluster.blocks.size()) {
      return s.Fault(fmt::format("the cluster has no block {}, which the mask {:#06x} names", rank, mask));
    }
    const auto window = reinterpret_cast<uint64_t>(s.machine.cluster.blocks[rank]->shared.data());
    if (bytes != 0) TRY_STATUS(Copy(s, window + s.Operand64(0), s.Operand64(1), bytes, bytes, kBulkAlign));
    std::byte* object = TRY(Locate(s, Space::kGeneric, window + s.Operand64(3), 8, 8, Access::kReadWrite));
    const auto old = static_cast<uint64_t>(Fetch(object, Type::kI64));
    Put(object, Type::kI64, mbarrier::Update(old, change));
  }
  return {};
}

Status ExecuteCopyMasked(Step& s) {
  const uint32_t bytes = s.Operand32(2), mask = s.Operand32(3);
  TRY_STATUS(CheckSize(s, bytes, kBulkAlign));
  if (bytes == 0) return {};
  std::byte* to = TRY(Locate(s, Space::kGeneric, s.Operand64(0), bytes, kBulkAlign, Access::kWrite));
  const std::byte* from = TRY(Locate(s, Space::kGeneric, s.Operand64(1), bytes, kBulkAlign, Access::kRead));
  for (uint32_t at = 0; at < bytes; ++at) {
    if ((mask >> at % kBulkAlign & 1) != 0) to[at] = from[at];
  }
  return {};
}

Status ExecuteReduceBulk(Step& s) {
  const uint32_t bytes = s.Operand32(2), step = static_cast<uint32_t>(Bytes(s.inst.type));
  TRY_STATUS(CheckSize(s, bytes, kBulkAlign));
  if (bytes == 0) return {};
  std::byte* to = TRY(Locate(s, Space::kGeneric, s.Operand64(0), bytes, kBulkAlign, Access::kReadWrite));
  std::byte* from = TRY(Locate(s, Space::kGeneric, s.Operand64(1), bytes, kBulkAlign, Access::kRead));
  for (uint32_t at = 0; at < bytes; at += step) {
    const Bits128 old = Fetch(to + at, s.inst.type), operand = Fetch(from + at, s.inst.type);
    Put(to + at, s.inst.type, Combine(s.inst.attrs.atomic, s.inst.type, old, operand, s.inst.attrs.flags));
  }
  return {};
}

}  // namespace ptx2cpu::ir::interpret
