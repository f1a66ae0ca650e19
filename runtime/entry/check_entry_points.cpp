// The functions of runtime/abi/check_entries.def. A file of its own: programs without checked code do not
// link it.
#include "runtime/abi/check.h"
#include "runtime/check/checks.h"

extern "C" {

void ptx2cpu_check_accesses(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line,
                            const uint64_t* addresses, uint64_t lanes, uint32_t form, uint32_t bytes,
                            uint64_t written, uint32_t range, const ptx2cpu_check_variable* variable,
                            uint64_t base) {
  ptx2cpu::rt::check::OnAccesses(
      *block, {thread, ptx_line, addresses, 0, 0, lanes, form, bytes, range, written, variable, base});
}

void ptx2cpu_check_row(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, uint64_t first,
                       int64_t stride, uint64_t lanes, uint32_t form, uint32_t bytes, uint64_t written,
                       uint32_t range, const ptx2cpu_check_variable* variable, uint64_t base) {
  ptx2cpu::rt::check::OnAccesses(
      *block, {thread, ptx_line, nullptr, first, stride, lanes, form, bytes, range, written, variable, base});
}

void ptx2cpu_check_sync(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, uint64_t lanes,
                        uint32_t step, uint32_t a, uint32_t b) {
  ptx2cpu::rt::check::OnSync(*block, {thread, ptx_line, lanes, step, a, b});
}

void ptx2cpu_check_free(ptx2cpu_block* block, uint32_t thread, uint32_t ptx_line, uint8_t* pointer) {
  ptx2cpu::rt::check::OnFree(*block, thread, ptx_line, reinterpret_cast<uint64_t>(pointer));
}

}  // extern "C"
