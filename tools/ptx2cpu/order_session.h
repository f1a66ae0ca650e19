// exec --order: records the program's launches, then replays each in other orders.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

// Does not return after a program that ran: this process ends as it did, or where results depend on the
// order, with the code of --error-exitcode if there is one. Errors: kFile.
Status RunInOtherOrders(const Arguments& arguments, const std::string& program,
                        const std::vector<std::string>& command,
                        std::vector<std::pair<std::string, std::string>> environment);

}  // namespace ptx2cpu::tool
