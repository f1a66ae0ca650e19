// What an openmp.cpp starts with. PTX2CPU_SUITE_BUILD is the namespace that it is compiled for: each
// processor of suite.h, `plain` or `fast` (-ffast-math).
#pragma once

#include <cmath>
#include <cstdint>

#include "tools/bench/suite/suite.h"
