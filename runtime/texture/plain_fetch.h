// The most common fetches, in a few steps: lines and planes of one level, without offsets or anything else.
#pragma once

#include <stdint.h>

#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

bool IsPlain(const ptx2cpu_texture& t, uint32_t fetch);
// The result of a fetch that is plain; `words` as for ptx2cpu_texture_fetch.
Texel FetchPlain(const ptx2cpu_texture& t, uint32_t fetch, const uint32_t* words);

}  // namespace ptx2cpu::texture
