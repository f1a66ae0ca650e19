// The thread of a fault of the hardware in vector code, which knows only its block.
#include "runtime/engine/kernel_module.h"
#include "runtime/launch/swapped_axes.h"

namespace ptx2cpu::rt {

void KernelCode::FindThread(const LaunchShape& shape, std::span<const std::byte> params,
                            LaunchError& error) const {
  const bool bad_address =
      error.fault == PTX2CPU_FAULT_BAD_ADDRESS || error.fault == PTX2CPU_FAULT_MISALIGNED;
  if (error.kind != LaunchError::Kind::kFault || error.thread != ~0u || error.of_child || error.pc == 0 ||
      !bad_address)
    return;
  ir::FaultOfBlock fault{
      .grid = shape.grid, .block = shape.block, .cluster = {1, 1, 1}, .place = error.block};
  fault.cluster = WithCluster(kernel(), shape).cluster;
  fault.dynamic_shared_bytes = shape.dynamic_shared_bytes;
  fault.outside_of = error.outside_of;
  fault.address = error.address;
  // Blocks that ran as one are neighbours along x, or along y where the code has the two exchanged.
  uint32_t Dim3::* const axis = SwapsAxes(kernel()) ? &Dim3::y : &Dim3::x;
  for (uint32_t n = 0; n < error.joined && fault.place.*axis < shape.grid.*axis; ++n, ++(fault.place.*axis)) {
    const Result<std::optional<ir::FaultingAccess>> found = module_.ThreadOf(name_, fault, params);
    if (!found) return;
    if (*found) return NameAccess(error, shape.block, fault.place, (*found)->thread, (*found)->address);
  }
}

}  // namespace ptx2cpu::rt
