#include <math.h>

#include "runtime/texture/texel.h"

namespace ptx2cpu::texture {

namespace {
struct Table {
  float linear[256];
  Table() {
    for (int code = 0; code < 256; ++code) {
      const double c = code / 255.0;
      linear[code] = static_cast<float>(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
  }
};
}  // namespace

float SrgbToLinear(uint8_t code) {
  static const Table table;
  return table.linear[code];
}

}  // namespace ptx2cpu::texture
