// Loads the translator, which is a shared object of its own: it contains LLVM, whose loading alone takes
// longer than a whole process whose kernels are all in the cache.
#pragma once

#include "ir/result.h"
#include "lowering/translator/translator.h"

namespace ptx2cpu::rt {

// Loads it at the first call and keeps it: from the folder of the file that this code is in, from lib/ptx2cpu
// beside that folder, or from where the loader looks for libraries. Errors: kFile (it is not there, or
// belongs to another build); the same one again at each call. A caller may hold the loader's lock, so this
// must not load on another thread that the caller waits for.
Result<const lowering::Translator*> TheTranslator();

}  // namespace ptx2cpu::rt
