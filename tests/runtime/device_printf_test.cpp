#include "runtime/device/device_printf.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "runtime/abi/abi.h"

using ptx2cpu::rt::FormatDevicePrintf;

namespace {
// Packs arguments as nvcc does: each aligned to its own size.
struct Packer {
  std::vector<uint8_t> bytes;
  template <typename T>
  Packer& Add(T value) {
    while (bytes.size() % sizeof(T) != 0) bytes.push_back(0);
    const size_t at = bytes.size();
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
};
std::string Format(const char* format, const Packer& packer, int expected) {
  std::string out;
  CHECK(FormatDevicePrintf(out, format, packer.bytes.data()) == expected);
  return out;
}
}  // namespace

TEST_CASE("device printf formats all conversions from the packed buffer") {
  CHECK(Format("plain", {}, 0) == "plain");
  CHECK(Format("%d %5u|%-5d|%05d", Packer().Add(-1).Add(2).Add(3).Add(4), 4) == "-1     2|3    |00004");
  CHECK(Format("%lld %llu", Packer().Add(-5000000000ll).Add(~0ull), 2) == "-5000000000 18446744073709551615");
  CHECK(Format("%d %f %d", Packer().Add(1).Add(2.5).Add(3), 3) == "1 2.500000 3");
  CHECK(Format("%s-%c-%%", Packer().Add("text").Add(int{'x'}), 2) == "text-x-%");
  CHECK(Format("%x %X %o %#x", Packer().Add(255).Add(255).Add(8).Add(16), 4) == "ff FF 10 0x10");
  CHECK(Format("%.3e %g %a", Packer().Add(12345.678).Add(0.0001).Add(1.0), 3) == "1.235e+04 0.0001 0x1p+0");
  CHECK(Format("%*d", Packer().Add(6).Add(42), 2) == "    42");
  CHECK(Format("%-*d|%+d", Packer().Add(4).Add(42).Add(5), 3) == "42  |+5");
  CHECK(Format("%*d|%.*f\n", Packer().Add(4).Add(42).Add(2).Add(1.0), -1) ==
        "  42|%.*f\n");  // as an H200 prints it
  CHECK(Format("%hd %hhd %hu %hhx %ho", Packer().Add(70000).Add(300).Add(-1).Add(-1).Add(65537), 5) ==
        "4464 44 65535 ff 1");
  CHECK(Format("%ld %lu %lx %lld", Packer().Add(-1ll).Add(5ull).Add(~0ull).Add(3ll), 4) ==
        "-1 5 ffffffffffffffff 3");
  CHECK(Format("%i %F %G %E %A % d", Packer().Add(1).Add(2.5).Add(1e-10).Add(1.5).Add(2.0).Add(3), 6) ==
        "1 2.500000 1E-10 1.500000E+00 0X1P+1  3");
  CHECK(Format("%p %p %.2s|%5c",
               Packer()
                   .Add(reinterpret_cast<void*>(0x1234))
                   .Add(static_cast<void*>(nullptr))
                   .Add("abc")
                   .Add(int{'z'}),
               4) == "0x1234 (nil) ab|    z");
}

TEST_CASE("a malformed conversion is printed unchanged") {
  CHECK(Format("a %d %y b", Packer().Add(1), -1) == "a 1 %y b");
}

TEST_CASE("directed rounding of doubles") {
  const double tiny = 0x1p-60;
  CHECK(ptx2cpu_round_add_f64(1.0, tiny, 2) == 1.0);
  CHECK(ptx2cpu_round_add_f64(1.0, tiny, 4) == 1.0 + 0x1p-52);
  CHECK(ptx2cpu_round_add_f64(1.0, -tiny, 3) == 1.0 - 0x1p-53);
  CHECK(ptx2cpu_round_mul_f64(1.0 + 0x1p-52, 1.0 + 0x1p-52, 4) == 1.0 + 3 * 0x1p-52);
  CHECK(ptx2cpu_round_fma_f64(1.0, 1.0, tiny, 4) == 1.0 + 0x1p-52);
  CHECK(ptx2cpu_round_div_f64(1.0, 3.0, 3) < ptx2cpu_round_div_f64(1.0, 3.0, 4));
  CHECK(ptx2cpu_round_sqrt_f64(2.0, 4) > ptx2cpu_round_sqrt_f64(2.0, 2));
  CHECK(1.0 + tiny == 1.0);  // the environment is as before
}
