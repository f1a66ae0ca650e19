// Links one object file into a shared object with a linker of the machine. Internal to this folder.
#pragma once

#include <string>
#include <string_view>

#include "ir/result.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

Result<std::string> LinkShared(std::string_view object, const Target& target);

}  // namespace ptx2cpu::lowering
