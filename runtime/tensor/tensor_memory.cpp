// tcgen05: copies from shared to tensor memory, and shifts of its rows. ir/interpret/tensor_core.cpp defines
// what they do.
#include <cstring>

#include "runtime/abi/tensor_core.h"
#include "runtime/tensor/block_windows.h"

namespace ptx2cpu::rt::tensor {

namespace {

namespace core = tensor_core;
using core::Place;

// Rows of tensor memory become those of the lanes after them.
bool ShiftRows(const Windows& windows, uint32_t block, uint64_t memory, const Place& base) {
  for (uint32_t row = 0; row < core::kShiftRows; ++row) {
    for (uint32_t column = 0; column < core::kShiftColumns; ++column) {
      const Place to{block, base.lane + row, base.column + column}, from{block, to.lane + 1, to.column};
      uint8_t *target = windows.At(block, memory + core::OffsetOf(to), 4),
              *source = windows.At(block, memory + core::OffsetOf(from), 4);
      if (target == nullptr || source == nullptr) return false;
      std::memcpy(target, source, 4);
    }
  }
  return true;
}

bool CopyRows(const Windows& windows, uint32_t block, uint64_t memory, const Place& base,
              const core::SharedMatrix& matrix, const core::CopyForm& form) {
  const core::CopyRows& rows = core::kCopyRows[static_cast<uint32_t>(form.shape)];
  for (uint32_t row = 0; row < rows.rows; ++row) {
    for (uint32_t chunk = 0; chunk < rows.chunks; ++chunk) {
      const uint8_t* source =
          windows.At(block, matrix.OffsetAt(false, row, chunk * kChunkBytes), kChunkBytes);
      if (source == nullptr) return false;
      uint8_t bytes[kChunkBytes];
      for (uint32_t n = 0; n < kChunkBytes; ++n)
        bytes[n] =
            form.unpacks == core::Unpacks::kNone ? source[n] : core::Container(source, form.unpacks, n);
      for (uint32_t copy = 0; copy < rows.copies; ++copy) {
        for (uint32_t word = 0; word < 4; ++word) {
          const Place to{block, base.lane + core::LaneOfRow(form.shape, row, copy),
                         base.column + chunk * 4 + word};
          uint8_t* target = windows.At(block, memory + core::OffsetOf(to), 4);
          if (target == nullptr) return false;
          std::memcpy(target, bytes + word * 4, 4);
        }
      }
    }
  }
  return true;
}

}  // namespace

}  // namespace ptx2cpu::rt::tensor

extern "C" uint32_t ptx2cpu_tensor_core_copy(ptx2cpu_block* block, uint64_t memory, uint32_t address,
                                             uint64_t descriptor, uint32_t bits) {
  namespace core = ptx2cpu::tensor_core;
  const core::CopyForm form = core::DecodeCopy(bits);
  const ptx2cpu::rt::tensor::Windows windows(*block, form.pair);
  const core::SharedMatrix matrix(descriptor);
  const bool shifts = form.shape == core::CopyShape::kShift;
  if (!windows.is_good() || (!shifts && !matrix.is_legal)) return PTX2CPU_FAULT_BAD_DESCRIPTOR;
  for (uint32_t n = 0; n < (form.pair ? 2u : 1u); ++n) {
    const core::Place base = core::PlaceOf(address);
    const bool good = shifts ? ptx2cpu::rt::tensor::ShiftRows(windows, n, memory, base)
                             : ptx2cpu::rt::tensor::CopyRows(windows, n, memory, base, matrix, form);
    if (!good) return PTX2CPU_FAULT_BAD_ADDRESS;
  }
  return 0;
}
