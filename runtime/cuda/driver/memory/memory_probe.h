// Finds out whether an address that the driver does not know is mapped memory.
#pragma once

#include <cstddef>

namespace ptx2cpu::driver {

// Whether every page of these bytes can be read. Devices here can use the program's own memory as it is
// (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS); an address that leads nowhere is still an error and not a
// crash.
bool Readable(const void* memory, size_t bytes);

}  // namespace ptx2cpu::driver
