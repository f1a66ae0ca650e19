// The files of a profiled process. It maps DIR/PID.profile and writes it as it runs, so that the file is
// complete however the process ends. DIR/PID.module-N-K.ptx has text K of module N, and DIR/PID.code-N.image
// the image of code N (runtime/engine/cache/image_bytes.h). Times are nanoseconds of the steady clock. The
// tool reads it (tools/ptx2cpu/profile_data.h); both are of one build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ptx2cpu::rt::profile {

inline constexpr uint64_t kMagic = 0x3165'6c69'666f'7270;  // "profile1"
inline constexpr size_t kMaxCodes = 4096, kMaxShapes = 8, kMaxSamples = size_t{1} << 17,
                        kMaxEvents = size_t{1} << 19, kMaxCalls = 1024, kMaxCompiles = 8192,
                        kTextBytes = size_t{4} << 20, kCounterWords = size_t{1} << 20;
inline constexpr uint32_t kNone = ~0u;
// The offset of a sample in functions that the code calls.
inline constexpr uint32_t kOutside = ~0u;

enum CodeFlag : uint32_t {
  kQuick = 1,      // made quickly, until there is better code
  kFromCache = 2,  // read from the cache
  kCounting = 4,   // counts how often its blocks are entered; runs some blocks of some launches
  kUnloaded = 8,   // its module is gone
};

// Launches of one grid and block.
struct ShapeRow {
  uint32_t grid[3], block[3];
  uint32_t shared, unused;  // dynamic shared memory in bytes
  uint64_t launches, nanoseconds;
};

struct CodeRow {
  uint32_t name;    // texts are offsets in File::text
  uint32_t module;  // number in the names of files; kNone: there are none, nor an image
  uint32_t module_texts;
  uint32_t flags;
  uint32_t block[3];  // made for blocks of this shape; 0: of any
  uint32_t contract, optimisation, tier, collapse, lane_width, alignment, matrix_sums, linked;
  uint32_t counters, counter_count;  // words of File::counters, of counting code
  uint64_t begin, end;               // addresses of the code
  double milliseconds;               // compiling, or reading it
  // Sums over the launches that began with this code:
  uint64_t launches, nanoseconds, least, most, blocks, threads;
  uint64_t busy;                                   // sum of the workers' shares
  uint64_t shares;                                 // how many
  uint64_t counted_launches, counted_nanoseconds;  // blocks that ran counting code
  uint64_t other_shapes;                           // launches of shapes that have no row
  uint32_t shape_count, unused;
  ShapeRow shapes[kMaxShapes];
};

struct SampleRow {
  uint32_t code, offset;  // code + 1, so that 0 is no sample; offset in bytes
  uint64_t count;
};

enum class Group : uint32_t { kHost = 1, kStreams = 2, kWorkers = 3 };  // tracks of a timeline
struct EventRow {
  uint64_t begin, end, track;
  uint32_t group, name;
};

// API calls, copies and fills by name.
struct CallRow {
  uint32_t group, name;
  uint64_t count, nanoseconds, bytes;
};

struct CompileRow {
  uint32_t name, flags;
  uint64_t begin, end;
};

struct File {
  uint64_t magic, bytes;
  uint64_t pid, parent;
  uint64_t begin, last;  // of the first and the last that was noted
  uint64_t sample_interval, samples;
  uint64_t lost_samples;  // the table was full, or the process did not let its threads be asked
  uint64_t events;        // all; the first kMaxEvents have a row
  uint32_t processors, workers;
  uint32_t code_count, call_count, compile_count, text_bytes, counter_words, unused;
  CodeRow codes[kMaxCodes];
  CallRow calls[kMaxCalls];
  CompileRow compiles[kMaxCompiles];
  SampleRow sample_rows[kMaxSamples];
  EventRow event_rows[kMaxEvents];
  uint64_t counters[kCounterWords];
  char text[kTextBytes];
};

}  // namespace ptx2cpu::rt::profile
