// exec --profile: the program as a child, and the report when it has ended, however it does.
#pragma once

#include <string>
#include <vector>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

// `command`: the words, the program's name first. Does not return after a program that ran: this process ends
// as it did. Errors: kFile.
Status ProfileProgram(const Arguments& arguments, const std::string& program,
                      const std::vector<std::string>& command,
                      const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace ptx2cpu::tool
