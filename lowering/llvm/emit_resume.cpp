// Resumable kernels: dispatch, resume, suspend, and the words shared with the scheduler.
#include "lowering/llvm/function_emitter.h"

namespace ptx2cpu::lowering {

Status EmitDispatch(Site& s) { return s.Unsupported("resumable kernels"); }
Status EmitResume(Site& s) { return s.Unsupported("resumable kernels"); }
Status EmitSuspend(Site& s) { return s.Unsupported("resumable kernels"); }
Status EmitResumeWord(Site& s) { return s.Unsupported("resumable kernels"); }

}  // namespace ptx2cpu::lowering
