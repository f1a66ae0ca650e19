// Options that improve a kernel's code where compiling with them works, and are dropped where it fails.
#pragma once

#include "ir/internal_error.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

struct Attempt {
  bool beside_others = false;   // as one code with other kernels that share its callees
  bool code_for_warps = false;  // besides that of lanes that run one by one
};

// Calls attempt(with, has): `has` begins as the options of `with`, and the attempt removes those that the
// kernel has no use for. A failed attempt is repeated without one of the options that it had, others first,
// so that an error of the kernel's own is met once.
template <typename Value, typename Try>
Result<Value> TryInTurn(Attempt with, const Try& attempt) {
  while (true) {
    Attempt has = with;
    const auto alone = [&has] { return !has.beside_others && !has.code_for_warps; };
    try {
      Result<Value> result = attempt(with, has);
      if (result || alone()) return result;
    } catch (const InternalError&) {
      if (alone()) throw;
    }
    (has.beside_others ? with.beside_others : with.code_for_warps) = false;
  }
}

}  // namespace ptx2cpu::lowering
