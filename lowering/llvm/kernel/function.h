// The functions of a module: a kernel's block or step function, and what it calls.
#pragma once

#include "lowering/llvm/emit/function_emitter.h"

namespace ptx2cpu::lowering {

Status EmitKernel(FunctionEmitter& e);  // block -> nothing: all of the block
// block, warp, entry -> nothing: a resumable kernel's lanes of one warp, resume.cpp
Status EmitStep(FunctionEmitter& e);
Status EmitBlockStep(FunctionEmitter& e);   // the same parameters: a kernel whose blocks suspend, resume.cpp
Status BeginLiveMasks(FunctionEmitter& e);  // all threads live, none parked
Status EmitCallee(FunctionEmitter& e);

}  // namespace ptx2cpu::lowering
