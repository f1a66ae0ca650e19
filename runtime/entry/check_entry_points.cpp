// The functions of runtime/abi/check_entries.def. A file of its own: programs without checked code do not
// link it.
#include "runtime/abi/check.h"
#include "runtime/check/checks.h"

extern "C" {

void ptx2cpu_check_access(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, uint64_t address,
                          uint32_t form, uint32_t bytes) {
  ptx2cpu::rt::check::OnAccess(*block, thread, ptx_line, address, form, bytes);
}

void ptx2cpu_check_sync(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, uint32_t step, uint32_t a,
                        uint32_t b) {
  ptx2cpu::rt::check::OnSync(*block, thread, ptx_line, step, a, b);
}

}  // extern "C"
