// The call of the program that the driver is serving, for reports.
#pragma once

#include <string>

namespace ptx2cpu::driver {

// "program+0x11a9 (main)": the nearest caller of this thread outside of our own libraries, as a file and an
// offset in it that addr2line takes, and the exported function around it where there is one. Empty: a thread
// of ours. Slow: it unwinds the stack.
std::string ProgramCall();

}  // namespace ptx2cpu::driver
