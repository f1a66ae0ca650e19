// Identifies the build of the translator: a hash of its sources and the version of LLVM that it was built
// with.
#pragma once

#include <string_view>

namespace ptx2cpu::lowering {

std::string_view TranslatorIdentity();

}  // namespace ptx2cpu::lowering
