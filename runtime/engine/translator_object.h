// The translator, which is a shared object of its own: it has LLVM, whose loading alone takes longer than a
// process whose kernels are all in the cache needs.
#pragma once

#include "ir/result.h"
#include "lowering/translator/translator.h"

namespace ptx2cpu::rt {

// Loads it at the first call and keeps it: from the folder of the file that this code is in, from lib/ptx2cpu
// beside that folder, or from where the loader looks for libraries. Errors: kFile (it is not there, or
// belongs to another build); the same one again at each call. May be called where the loader's lock is held,
// so not on a thread for which such a caller waits.
Result<const lowering::Translator*> TheTranslator();

}  // namespace ptx2cpu::rt
