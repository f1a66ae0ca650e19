// Virtual memory management: reserved addresses, physical memory with handles, mappings between the two.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/memory/allocations.h"

namespace ptx2cpu::driver {

// The reservation around an address that is mapped.
void FindReservation(uintptr_t address, uintptr_t* base, size_t* size);
// CUmemAccess_flags of a device for the mapping at `address`.
int VirtualAccess(uintptr_t address, int device);
// CUmemAllocationHandleType bits that the memory of a mapping was made with.
unsigned long long AllowedHandleTypes(const Range& range);

}  // namespace ptx2cpu::driver
