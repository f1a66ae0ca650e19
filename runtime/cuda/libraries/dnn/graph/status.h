// Version 9 has a status for each kind of wrong argument; version 8 has one for all.
#pragma once

#include "runtime/cuda/abi/cudnn_types.h"

namespace ptx2cpu::cudnn {

inline bool IsVersion9() {
  constexpr int kBadParam9 = 2000;
  return cuda::CUDNN_STATUS_BAD_PARAM == kBadParam9;
}
inline cuda::cudnnStatus_t WrongArgument(int of_version_9) {
  return IsVersion9() ? static_cast<cuda::cudnnStatus_t>(of_version_9) : cuda::CUDNN_STATUS_BAD_PARAM;
}
// As recorded of version 9, and documented of version 8.
inline cuda::cudnnStatus_t AlreadyFinalized() {
  return IsVersion9() ? cuda::CUDNN_STATUS_BAD_PARAM : cuda::CUDNN_STATUS_NOT_INITIALIZED;
}
inline cuda::cudnnStatus_t NullPointer() { return WrongArgument(2002); }
inline cuda::cudnnStatus_t NotFinalized() { return WrongArgument(2004); }
inline cuda::cudnnStatus_t WrongType() { return WrongArgument(2010); }

}  // namespace ptx2cpu::cudnn
