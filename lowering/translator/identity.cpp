#include "lowering/translator/identity.h"

namespace ptx2cpu::lowering {

std::string_view TranslatorIdentity() {
  return
#include PTX2CPU_TRANSLATOR_ID_FILE
      " llvm " PTX2CPU_LLVM_VERSION;
}

}  // namespace ptx2cpu::lowering
