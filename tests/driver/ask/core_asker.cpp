// Asks our driver one group of core_questions.h, in a process that has done nothing else.
#include "driver_api.h"

using namespace ptx2cpu::cuda;
using namespace ptx2cpu::driver;

#include "tests/driver/core_questions.h"

int main(int argc, char** argv) { return core_questions::Main(argc, argv); }
