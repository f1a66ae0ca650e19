// The soname of this copy of a library.
#pragma once

namespace ptx2cpu::libraries {

// The number after ".so."; defined for each library in CMakeLists.txt.
extern const int kSonameMajor;

}  // namespace ptx2cpu::libraries
