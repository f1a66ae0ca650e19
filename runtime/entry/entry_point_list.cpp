// A file of its own: programs with kernels compiled ahead of time do not link it, and so only the entry
// points they call.
#include "runtime/entry/entry_point_list.h"

#include "runtime/abi/check.h"

namespace ptx2cpu::rt {

std::span<const ptx2cpu_entry_point> EntryPoints() {
  static const ptx2cpu_entry_point kAll[] = {
#define ENTRY(result, name, parameters, meaning) {#name, reinterpret_cast<void*>(&name)},
#include "runtime/abi/check_entries.def"
#include "runtime/abi/entry_points.def"
#undef ENTRY
  };
  return kAll;
}

}  // namespace ptx2cpu::rt
