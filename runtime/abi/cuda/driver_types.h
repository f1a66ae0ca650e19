// The CUDA driver API as a C ABI: all types, in headers of a family each. Functions: runtime/driver/cuda.api.
#pragma once

#include "runtime/abi/cuda/driver_array.h"
#include "runtime/abi/cuda/driver_device.h"
#include "runtime/abi/cuda/driver_graph.h"
#include "runtime/abi/cuda/driver_handles.h"
#include "runtime/abi/cuda/driver_interop.h"
#include "runtime/abi/cuda/driver_memory.h"
#include "runtime/abi/cuda/driver_module.h"
#include "runtime/abi/cuda/driver_result.h"
#include "runtime/abi/cuda/driver_stream.h"
