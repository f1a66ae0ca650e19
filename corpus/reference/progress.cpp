// References of kernels whose threads wait for each other outside barriers.
#include "reference.h"

namespace corpus {
namespace {

void LockBuckets(Call& call) {
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i) {
    const uint32_t value = call.In<uint32_t>(0)[i], bucket = value % call.Value<uint32_t>(3);
    call.Out<uint32_t>(1)[2 * bucket] += value;
    ++call.Out<uint32_t>(1)[2 * bucket + 1];
  }
}

void PassToken(Call& call) {
  for (uint32_t b = 0; b < call.grid[0]; ++b) {
    uint32_t carried = b;
    for (uint32_t i = (b + 1) * call.block[0]; i-- > b * call.block[0];) {
      call.Out<uint32_t>(1)[i] = carried = carried * 33 + call.In<uint32_t>(0)[i];
    }
  }
}

void LaneHandshakes(Call& call) {
  for (uint32_t i = 0; i < call.Threads(); i += 2) {
    uint32_t even = call.In<uint32_t>(0)[i], odd = call.In<uint32_t>(0)[i + 1];
    for (uint32_t r = 0; r < call.Value<uint32_t>(2); ++r) {
      const uint32_t got = even;
      even += odd ^ got;
      odd = odd * 3 + got;
    }
    call.Out<uint32_t>(1)[i] = even;
    call.Out<uint32_t>(1)[i + 1] = odd;
  }
}

void TicketLock(Call& call) {
  for (uint32_t r = 0; r < call.Value<uint32_t>(1); ++r) {
    for (uint32_t b = 0; b < call.grid[0]; ++b) {
      for (uint32_t t = 0; t < call.block[0]; ++t) call.Out<uint32_t>(0)[t] += b * 7 + r + 1;
    }
  }
}

void LookBackScan(Call& call) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < call.Value<uint32_t>(2); ++i)
    call.Out<uint32_t>(1)[i] = sum += call.In<uint32_t>(0)[i];
}

void SpinUntilRaised(Call& call) {
  for (uint32_t t = 0; t < call.block[0]; ++t) {
    uint32_t value = t + 1;
    for (uint32_t r = 0; r < call.Value<uint32_t>(3); ++r) value = value * 1664525 + 1013904223;
    call.Out<uint32_t>(1)[t] = value;
    for (uint32_t b = 0; b < call.grid[0]; ++b) call.Out<uint32_t>(2)[b * call.block[0] + t] = value + b;
  }
  call.Out<uint32_t>(0)[0] = 1;
}

}  // namespace

void AddProgressReferences(References& references) {
  references["lock_buckets"] = LockBuckets;
  references["lock_buckets_flag"] = LockBuckets;
  references["pass_token"] = PassToken;
  references["lane_handshakes"] = LaneHandshakes;
  references["ticket_lock"] = TicketLock;
  references["look_back_scan"] = LookBackScan;
  references["spin_until_raised"] = SpinUntilRaised;
}

}  // namespace corpus
