// The CUDA driver API as a C ABI: all types, in headers of a family each. Functions:
// runtime/cuda/driver/cuda.api.
#pragma once

#include "runtime/cuda/abi/driver_array.h"
#include "runtime/cuda/abi/driver_device.h"
#include "runtime/cuda/abi/driver_graph.h"
#include "runtime/cuda/abi/driver_handles.h"
#include "runtime/cuda/abi/driver_interop.h"
#include "runtime/cuda/abi/driver_memory.h"
#include "runtime/cuda/abi/driver_module.h"
#include "runtime/cuda/abi/driver_result.h"
#include "runtime/cuda/abi/driver_stream.h"
