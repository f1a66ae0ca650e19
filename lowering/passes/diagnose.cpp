#include "lowering/passes/diagnose.h"

namespace ptx2cpu::lowering {

std::unexpected<Error> Unsupported(const ir::Module& module, ir::Position at, std::string message,
                                   std::string hint) {
  Error error;
  error.code = ErrorCode::kUnsupported;
  error.message = std::move(message);
  error.at = module.Place(at.ptx_line);
  error.excerpt = std::string(module.Line(at.ptx_line));
  error.hint = std::move(hint);
  return Fail(std::move(error));
}

}  // namespace ptx2cpu::lowering
