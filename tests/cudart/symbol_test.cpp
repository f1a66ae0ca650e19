// Variables by the address of their host shadow.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/cudart/face.h"

using namespace ptx2cpu::cudart_test;

namespace {

const std::string kVariables = Module(R"(
.visible .const .align 4 .b8 factors[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0};
.visible .global .align 8 .u64 total = 77;
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .entry count() {
  .reg .u32 %r<3>; .reg .u64 %rd<1>;
  ld.const.u32 %r1, [factors+8]; atom.global.add.u32 %r2, [counter], %r1; ret;
}
)");

cudaError_t To(const Face& face, const void* symbol, const void* from, size_t count, size_t offset = 0,
               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return face.Call("cudaMemcpyToSymbol", symbol, from, count, offset, kind);
}
cudaError_t From(const Face& face, void* to, const void* symbol, size_t count, size_t offset = 0,
                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return face.Call("cudaMemcpyFromSymbol", to, symbol, count, offset, kind);
}

struct Variables {
  explicit Variables(const Face& face) : binary(face, {kVariables}) {
    binary.Variable(factors.data(), "factors", 16);
    binary.Variable(&total, "total", 8);
    binary.Managed(reinterpret_cast<void**>(&counter), "counter", 4);
    binary.Function(&count, "count");
    binary.End();
  }
  Registered binary;
  std::array<uint32_t, 4> factors{};
  uint64_t total = 0;
  uint32_t* counter = nullptr;
  char count = 0;
};

}  // namespace

TEST_CASE("symbols are read and written within their bounds", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Variables variables(face);
    std::array<uint32_t, 4> read{};
    REQUIRE(From(face, read.data(), &variables.factors, 16) == cudaSuccess);
    REQUIRE(read == std::array<uint32_t, 4>{1, 2, 3, 4});
    uint64_t total = 0;
    REQUIRE(From(face, &total, &variables.total, 8) == cudaSuccess);
    REQUIRE(total == 77);
    const std::array<uint32_t, 2> written{30, 40};
    REQUIRE(To(face, &variables.factors, written.data(), 8, 8) == cudaSuccess);
    REQUIRE(From(face, read.data(), &variables.factors, 16) == cudaSuccess);
    REQUIRE(read == std::array<uint32_t, 4>{1, 2, 30, 40});
    REQUIRE(face.Call("cudaMemcpyToSymbolAsync", static_cast<const void*>(&variables.total),
                      static_cast<const void*>(&written), size_t{8}, size_t{0}, cudaMemcpyDefault,
                      cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaMemcpyFromSymbolAsync", static_cast<void*>(&total),
                      static_cast<const void*>(&variables.total), size_t{4}, size_t{4},
                      cudaMemcpyDeviceToHost, cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    REQUIRE(static_cast<uint32_t>(total) == 40);
    size_t size = 0;
    REQUIRE(face.Call("cudaGetSymbolSize", &size, static_cast<const void*>(&variables.factors)) ==
            cudaSuccess);
    REQUIRE(size == 16);
    REQUIRE(face.Last() == cudaSuccess);
  }
}

TEST_CASE("wrong uses of symbols give the errors of a GPU", "[cudart]") {
  const Face& face = Face::Of(13);
  Variables variables(face);
  uint32_t words[8] = {};
  REQUIRE(To(face, &variables.factors, words, 20) == cudaErrorInvalidValue);
  REQUIRE(To(face, &variables.factors, words, 8, 12) == cudaErrorInvalidValue);
  REQUIRE(To(face, &variables.factors, words, 8, SIZE_MAX) == cudaErrorInvalidValue);
  REQUIRE(To(face, &variables.factors, words, 4, 0, cudaMemcpyDeviceToHost) ==
          cudaErrorInvalidMemcpyDirection);
  REQUIRE(To(face, &variables.factors, words, 4, 0, cudaMemcpyHostToHost) == cudaErrorInvalidMemcpyDirection);
  REQUIRE(From(face, words, &variables.total, 4, 0, cudaMemcpyHostToDevice) ==
          cudaErrorInvalidMemcpyDirection);
  REQUIRE(To(face, &variables.factors, words, 0) == cudaSuccess);
  void* address = nullptr;
  REQUIRE(face.Call("cudaGetSymbolAddress", &address, static_cast<const void*>(nullptr)) ==
          cudaErrorInvalidSymbol);
  REQUIRE(face.Call("cudaGetSymbolAddress", &address, static_cast<const void*>("total")) ==
          cudaErrorInvalidSymbol);
  REQUIRE(face.Last() == cudaErrorInvalidSymbol);
}

TEST_CASE("managed variables have storage before anything is launched", "[cudart]") {
  for (const int major : kMajors) {
    INFO("CUDA " << major);
    const Face& face = Face::Of(major);
    Variables variables(face);
    REQUIRE(variables.counter != nullptr);
    REQUIRE(*variables.counter == 5);
    REQUIRE(face.Get<char(void**)>("__cudaInitModule")(variables.binary.handle()) != 0);
    *variables.counter = 100;
    REQUIRE(face.Call("cudaLaunchKernel", static_cast<const void*>(&variables.count), dim3{2, 1, 1},
                      dim3{16, 1, 1}, static_cast<void**>(nullptr), size_t{0},
                      cudaStream_t{}) == cudaSuccess);
    REQUIRE(face.Call("cudaDeviceSynchronize") == cudaSuccess);
    REQUIRE(*variables.counter == 100 + 32 * 3);
    void* address = nullptr;
    REQUIRE(face.Call("cudaGetSymbolAddress", &address, static_cast<const void*>(variables.counter)) ==
            cudaSuccess);
    REQUIRE(address == variables.counter);
  }
}

TEST_CASE("a reset of the device gives variables their first values again", "[cudart]") {
  const Face& face = Face::Of(12);
  Variables variables(face);
  const uint64_t other = 1;
  uint64_t total = 0;
  REQUIRE(To(face, &variables.total, &other, 8) == cudaSuccess);
  REQUIRE(face.Call("cudaDeviceReset") == cudaSuccess);
  REQUIRE(From(face, &total, &variables.total, 8) == cudaSuccess);
  REQUIRE(total == 77);
}
