// A channel description from its parts.
#include <array>

#include "cudart_api.h"
#include "runtime/cuda/cudart/channel.h"

namespace ptx2cpu::cudart {

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}

}  // namespace ptx2cpu::cudart
