#include "runtime/launch/counted_blocks.h"

#include "runtime/profile/profile.h"

namespace ptx2cpu::rt {

CountedBlocks::~CountedBlocks() {
  if (blocks_.any()) profile::AddCounted(job_.kernel(), nanoseconds_);
}

bool CountedBlocks::Run(uint64_t index, LandingPoint& landing) {
  const uint64_t begin = profile::Now();
  if (!blocks_.Run(*code_, index, 1, landing)) return false;
  nanoseconds_ += profile::Now() - begin;
  return true;
}

}  // namespace ptx2cpu::rt
