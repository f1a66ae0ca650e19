// The address space that a generic address points into, found from the instructions that compute the address.
#pragma once

#include "ir/function.h"

namespace ptx2cpu::analysis {

struct AddressSpaceResult {
  // Per value. kGeneric: unknown or several. kShared and kLocal: a real address that lies in the window (made
  // by to_generic of that space); global, const and param likewise. Values that are not addresses are
  // kGeneric.
  std::vector<ir::Space> spaces;
  // A real address of a local variable is stored, passed on, or mixed with others: it may be used by other
  // threads.
  bool local_escapes = false;
};

AddressSpaceResult AnalyzeAddressSpaces(const ir::Function& f);

}  // namespace ptx2cpu::analysis
