// Modules that break a rule, and the verifier's message.
#pragma once

#include <string>
#include <vector>

#include "ir/function.h"

namespace ptx2cpu::test {

struct Broken {
  std::string text, message;
};

void CheckBroken(const ir::Module& module, const std::string& message);
// The body is in a kernel @k; it can refer to a function, a kernel, variables and a signature.
std::string Around(const std::string& phase, const std::string& body);
void CheckAll(const std::string& phase, const std::vector<Broken>& cases);

}  // namespace ptx2cpu::test
