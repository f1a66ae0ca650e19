// Errors of passes: legal PTX that this version does not translate.
#pragma once

#include <string>

#include "ir/function.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {

// kUnsupported at a PTX line, with that line's text.
inline std::unexpected<Error> Unsupported(const ir::Module& module, const ir::Position& at,
                                          std::string message, std::string hint) {
  Error error;
  error.code = ErrorCode::kUnsupported;
  error.message = std::move(message);
  error.at = module.Place(at.ptx_line);
  error.excerpt = std::string(module.Line(at.ptx_line));
  error.hint = std::move(hint);
  return Fail(std::move(error));
}

}  // namespace ptx2cpu::lowering
