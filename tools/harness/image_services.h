// Textures and surfaces for the interpreter: the launch library's own functions.
#pragma once

#include "ir/interpret/interpret.h"

namespace ptx2cpu::harness {

const ir::ImageServices& InterpreterImages();

}  // namespace ptx2cpu::harness
