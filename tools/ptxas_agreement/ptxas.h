// The answers of ptxas to programs: many in one file, so that its start is paid once.
#pragma once

#include <string>
#include <vector>

#include "tools/ptxas_agreement/programs.h"

namespace ptx2cpu::agreement {

// For each program: empty where ptxas takes it for sm_90 or, if that lacks the instruction, for one of the
// newer targets, else its first message; "ends without a message" where it crashes or takes longer than 20
// seconds. `scratch` is a file name of its own to write to.
std::vector<std::string> AskPtxas(const std::string& ptxas, const std::string& scratch,
                                  const std::vector<Program>& programs);

}  // namespace ptx2cpu::agreement
