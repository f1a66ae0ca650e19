// What an openmp.cpp starts with. It is compiled twice: PTX2CPU_SUITE_BUILD is the namespace of the build,
// `plain` or `fast` (-ffast-math).
#pragma once

#include <cmath>
#include <cstdint>

#include "tools/bench/suite/suite.h"
