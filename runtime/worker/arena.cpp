#include "runtime/worker/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/abi/abi.h"

namespace ptx2cpu::rt {

namespace {
size_t PageSize() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}
size_t RoundUp(size_t value, size_t to) { return (value + to - 1) / to * to; }
}  // namespace

GuardedBuffer::GuardedBuffer(size_t guard) : guard_(RoundUp(guard, PageSize())) {}

GuardedBuffer::~GuardedBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, PageSize() + usable_ + guard_);
}

uint8_t* GuardedBuffer::Ensure(size_t bytes, size_t align) {
  const size_t page = PageSize();
  const size_t rounded = RoundUp(bytes == 0 ? 1 : bytes, align);
  if (mapping_ == nullptr || usable_ < rounded) {
    const size_t wanted = RoundUp(rounded, page);
    void* fresh =
        mmap(nullptr, page + wanted + guard_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
    if (mprotect(static_cast<uint8_t*>(fresh) + page, wanted, PROT_READ | PROT_WRITE) != 0) {
      munmap(fresh, page + wanted + guard_);
      return nullptr;
    }
    if (mapping_ != nullptr) munmap(mapping_, page + usable_ + guard_);
    mapping_ = static_cast<uint8_t*>(fresh);
    usable_ = wanted;
  }
  return mapping_ + page + usable_ - rounded;
}

bool GuardedBuffer::InGuard(const void* address) const {
  if (mapping_ == nullptr) return false;
  const auto* byte = static_cast<const uint8_t*>(address);
  const uint8_t* low = mapping_ + PageSize();
  const uint8_t* high = low + usable_;
  return (byte >= mapping_ && byte < low) || (byte >= high && byte < high + guard_);
}

void ThreadIds::Fill(uint32_t nx, uint32_t ny, uint32_t nz) {
  if (shape[0] == nx && shape[1] == ny && shape[2] == nz) return;
  shape[0] = nx, shape[1] = ny, shape[2] = nz;
  uint32_t t = 0;
  for (uint32_t z = 0; z < nz; ++z) {
    for (uint32_t y = 0; y < ny; ++y) {
      for (uint32_t x = 0; x < nx; ++x) tid[t++] = x | y << PTX2CPU_TID_Y_SHIFT | z << PTX2CPU_TID_Z_SHIFT;
    }
  }
  while (t % PTX2CPU_WARP_SIZE != 0) tid[t++] = 0;  // padding lanes of a partial warp are never live
}

}  // namespace ptx2cpu::rt
