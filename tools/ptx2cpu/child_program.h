// A program as a child of exec.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::tool {

// Runs it with the variables added to the environment, and passes signals on. `command`: the words, the
// program's name first. Returns how it ended, as waitpid does. kFile: no process.
Result<int> RunChild(const std::string& program, std::vector<std::string> command,
                     const std::vector<std::pair<std::string, std::string>>& environment);
// This process ends as the child did.
[[noreturn]] void EndAs(int status);

}  // namespace ptx2cpu::tool
