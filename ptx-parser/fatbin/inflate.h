// gzip and zlib streams (RFC 1952, RFC 1950), in bounded steps: bytes that only look like the start of a
// stream must cost little.
#pragma once

#include <optional>
#include <string>

#include "ptx-parser/fatbin/format.h"

namespace ptx2cpu::ptx::fatbin {

struct StreamExtent {
  uint64_t stored = 0;   // bytes of the stream, with its header and checksum
  uint64_t decoded = 0;  // bytes that it decodes to
};

// One decoder for many streams: making one costs an allocation of 40 KB. Throws std::bad_alloc.
class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The first bytes that the stream at the front of `stored` decodes to, at most `max`; fewer where it ends
  // or is damaged. `read`: how much of `stored` that took.
  std::string Head(Bytes stored, size_t max, uint64_t& read);
  // The whole stream at the front of `stored`, its checksum included; nothing where it is damaged, cut or
  // decodes to more than `max` bytes. `cost`: bytes read and decoded until then.
  std::optional<StreamExtent> Measure(Bytes stored, uint64_t max, uint64_t& cost);
  // What the stream that is all of `stored` decodes to; nothing where that is not exactly `size` bytes.
  std::optional<std::string> Decode(Bytes stored, uint64_t size);

 private:
  struct State;
  State* state_;
};

}  // namespace ptx2cpu::ptx::fatbin
