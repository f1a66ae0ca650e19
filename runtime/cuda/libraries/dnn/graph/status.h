// Version 9 has a status for each kind of wrong argument; version 8 has one for all.
#pragma once

#include "runtime/cuda/abi/cudnn_types.h"

namespace ptx2cpu::cudnn {

inline cuda::cudnnStatus_t WrongArgument(int of_version_9) {
  constexpr int kBadParam9 = 2000;
  return cuda::CUDNN_STATUS_BAD_PARAM == kBadParam9 ? static_cast<cuda::cudnnStatus_t>(of_version_9)
                                                    : cuda::CUDNN_STATUS_BAD_PARAM;
}
inline cuda::cudnnStatus_t NullPointer() { return WrongArgument(2002); }
inline cuda::cudnnStatus_t NotFinalized() { return WrongArgument(2004); }
inline cuda::cudnnStatus_t WrongType() { return WrongArgument(2010); }

}  // namespace ptx2cpu::cudnn
