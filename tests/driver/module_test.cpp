// Modules and libraries: images of every form, options and logs, variables per context, lifetimes.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/driver/driver_session.h"

using namespace driver_test;

namespace {

const std::string kCaller = kHead + R"(
.extern .func (.param .u32 r) twice(.param .u32 a);
.visible .global .u32 answer;
.visible .entry calls(.param .u32 n) {
  .reg .u32 %r<3>;
  ld.param.u32 %r1, [n];
  { .param .u32 a; .param .u32 r; st.param.u32 [a], %r1; call (r), twice, (a); ld.param.u32 %r2, [r]; }
  st.global.u32 [answer], %r2;
  ret;
}
)";
const std::string kCallee = kHead + R"(
.visible .func (.param .u32 r) twice(.param .u32 a) {
  .reg .u32 %r<3>;
  ld.param.u32 %r1, [a];
  add.u32 %r2, %r1, %r1;
  st.param.u32 [r], %r2;
  ret;
}
)";
const std::string kManaged = kHead + R"(
.visible .global .attribute(.managed) .align 4 .u32 shared_by_all = 40;
.visible .entry bump_managed() {
  .reg .u32 %r<2>;
  atom.global.add.u32 %r1, [shared_by_all], 1;
  ret;
}
)";

void CheckLinked(const void* image) {
  CUmodule module;
  CUfunction function;
  CUdeviceptr answer;
  REQUIRE(cuModuleLoadData(&module, image) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "calls") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetGlobal_v2(&answer, nullptr, module, "answer") == CUDA_SUCCESS);
  REQUIRE(Run(function, 1, 1, nullptr, 21u) == CUDA_SUCCESS);
  unsigned value = 0;
  REQUIRE(cuMemcpyDtoH_v2(&value, answer, 4) == CUDA_SUCCESS);
  CHECK(value == 42);
  REQUIRE(cuModuleUnload(module) == CUDA_SUCCESS);
}

}  // namespace

TEST_CASE("what cuLinkComplete makes can be copied, written to a file, and loaded after the linker is gone") {
  Session session;
  CUlinkState state;
  REQUIRE(cuLinkCreate_v2(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
  const auto add = [&](const std::string& text) {
    return cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1,
                            nullptr, 0, nullptr, nullptr);
  };
  REQUIRE(add(kCaller) == CUDA_SUCCESS);
  REQUIRE(add(kCallee) == CUDA_SUCCESS);
  void* image;
  size_t size;
  REQUIRE(cuLinkComplete(state, &image, &size) == CUDA_SUCCESS);
  const std::vector<char> copy(static_cast<char*>(image), static_cast<char*>(image) + size);
  REQUIRE(cuLinkDestroy(state) == CUDA_SUCCESS);
  CHECK(cuLinkDestroy(state) == CUDA_ERROR_INVALID_HANDLE);
  CheckLinked(copy.data());
  const auto file = std::filesystem::temp_directory_path() / ("ptx2cpu_linked_" + std::to_string(getpid()));
  std::ofstream(file, std::ios::binary).write(copy.data(), static_cast<std::streamsize>(copy.size()));
  CUmodule module;
  CHECK(cuModuleLoad(&module, file.c_str()) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  std::filesystem::remove(file);
}

TEST_CASE("LTO IR is refused by name, for linking and for loading") {
  Session session;
  alignas(8) char intermediate[64] =
      "\xed"
      "CN\x7f";
  char log[500] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUlinkState state;
  REQUIRE(cuLinkCreate_v2(2, names, values, &state) == CUDA_SUCCESS);
  CHECK(cuLinkAddData_v2(state, CU_JIT_INPUT_NVVM, intermediate, sizeof intermediate, "a", 0, nullptr,
                         nullptr) == CUDA_ERROR_NOT_SUPPORTED);
  CHECK_THAT(log, Catch::Contains("LTO IR"));
  CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
  log[0] = '\0';
  values[1] = reinterpret_cast<void*>(sizeof log);
  CUmodule module;
  CHECK(cuModuleLoadDataEx(&module, intermediate, 2, names, values) == CUDA_ERROR_NO_BINARY_FOR_GPU);
  CHECK_THAT(log, Catch::Contains("LTO IR"));
}

TEST_CASE("the device runtime of a toolkit is not linked: what it defines is built in") {
  const std::string caller = kHead + R"(
.extern .func (.param .b32 r) cudaGetDeviceCount(.param .b64 where);
.visible .entry counts(.param .u64 out) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [out];
  { .param .b64 a; .param .b32 r; st.param.b64 [a], %rd1; call (r), cudaGetDeviceCount, (a); }
  ret;
}
)";
  const std::string toolkit = kHead + R"(
.extern .func (.param .b32 r) __cuda_syscall_of_another_driver(.param .b64 where);
.visible .func (.param .b32 r) cudaGetDeviceCount(.param .b64 where) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.b64 %rd1, [where];
  { .param .b64 a; .param .b32 q; st.param.b64 [a], %rd1; call (q), __cuda_syscall_of_another_driver, (a); ld.param.b32 %r1, [q]; }
  st.param.b32 [r], %r1;
  ret;
}
)";
  Session session;
  CUlinkState state;
  REQUIRE(cuLinkCreate_v2(0, nullptr, nullptr, &state) == CUDA_SUCCESS);
  for (const std::string& text : {toolkit, caller}) {
    REQUIRE(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, const_cast<char*>(text.c_str()), text.size() + 1,
                             nullptr, 0, nullptr, nullptr) == CUDA_SUCCESS);
  }
  void* image;
  size_t size;
  REQUIRE(cuLinkComplete(state, &image, &size) == CUDA_SUCCESS);
  CUmodule module;
  CUfunction function;
  CUdeviceptr count;
  int value = 0, devices = -1;
  REQUIRE(cuModuleLoadData(&module, image) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "counts") == CUDA_SUCCESS);
  REQUIRE(cuMemAlloc_v2(&count, 4) == CUDA_SUCCESS);
  REQUIRE(Run(function, 1, 1, nullptr, count) == CUDA_SUCCESS);
  REQUIRE(cuMemcpyDtoH_v2(&value, count, 4) == CUDA_SUCCESS);
  REQUIRE(cuDeviceGetCount(&devices) == CUDA_SUCCESS);
  CHECK(value == devices);
  CHECK(cuMemFree_v2(count) == CUDA_SUCCESS);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuLinkDestroy(state) == CUDA_SUCCESS);
}

TEST_CASE("the error log names the line, the sizes report how much was written, the wall time is a number") {
  Session session;
  const std::string broken = kBump + ".visible .entry wrong() {\n  add.u32 %undeclared, 1, 2;\n  ret;\n}\n";
  std::array<char, 2000> error{}, info{};
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                          CU_JIT_INFO_LOG_BUFFER,  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                          CU_JIT_LOG_VERBOSE,      CU_JIT_WALL_TIME,
                          CU_JIT_MAX_REGISTERS,    CU_JIT_OPTIMIZATION_LEVEL};
  void* const one = reinterpret_cast<void*>(1);
  const auto load = [&](const std::string& text, CUmodule& module, size_t& error_size, size_t& info_size,
                        float& milliseconds) {
    void* values[] = {error.data(),
                      reinterpret_cast<void*>(error.size()),
                      info.data(),
                      reinterpret_cast<void*>(info.size()),
                      one,
                      nullptr,
                      reinterpret_cast<void*>(32),
                      one};
    const CUresult result = cuModuleLoadDataEx(&module, text.c_str(), std::size(names), names, values);
    error_size = reinterpret_cast<size_t>(values[1]);
    info_size = reinterpret_cast<size_t>(values[3]);
    std::memcpy(&milliseconds, &values[5], sizeof milliseconds);
    return result;
  };
  CUmodule module;
  size_t error_size, info_size;
  float milliseconds;
  CHECK(load(broken, module, error_size, info_size, milliseconds) == CUDA_ERROR_INVALID_PTX);
  CHECK(error_size == std::strlen(error.data()));
  CHECK(std::string(error.data()).find("%undeclared") != std::string::npos);
  CHECK(milliseconds > 0);
  REQUIRE(load(kBump, module, error_size, info_size, milliseconds) == CUDA_SUCCESS);
  CHECK(error_size == 0);
  CHECK(info_size == std::strlen(info.data()));
  CHECK(std::string(info.data()).find("bump_total") != std::string::npos);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  // A log longer than its buffer is cut, and ends in NUL.
  std::memset(error.data(), 'x', error.size());
  void* values[] = {error.data(), reinterpret_cast<void*>(8)};
  CHECK(cuModuleLoadDataEx(&module, broken.c_str(), 2, names, values) == CUDA_ERROR_INVALID_PTX);
  CHECK(reinterpret_cast<size_t>(values[1]) == 7);
  CHECK(error[7] == '\0');
  CHECK(error[8] == 'x');
}

TEST_CASE(
    "a library's variables are each context's own, its managed variables are shared; both go with what owns "
    "them") {
  Session session;
  CUlibrary library;
  CUkernel kernel;
  REQUIRE(cuLibraryLoadData(&library, kBump.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          CUDA_SUCCESS);
  REQUIRE(cuLibraryGetKernel(&kernel, library, "bump_total") == CUDA_SUCCESS);
  CUcontext second;
  REQUIRE(cuCtxCreate_v2(&second, 0, 0) == CUDA_SUCCESS);
  CUdeviceptr here, there;
  REQUIRE(cuLibraryGetGlobal(&there, nullptr, library, "total") == CUDA_SUCCESS);
  REQUIRE(Run(reinterpret_cast<CUfunction>(kernel), 1, 8, nullptr, 5u) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<unsigned*>(there) == 40);
  REQUIRE(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
  REQUIRE(cuLibraryGetGlobal(&here, nullptr, library, "total") == CUDA_SUCCESS);
  CHECK(here != there);
  CHECK(*reinterpret_cast<unsigned*>(here) == 0);
  CUfunction in_first, in_second;
  REQUIRE(cuKernelGetFunction(&in_first, kernel) == CUDA_SUCCESS);
  REQUIRE(cuCtxPushCurrent_v2(second) == CUDA_SUCCESS);
  REQUIRE(cuKernelGetFunction(&in_second, kernel) == CUDA_SUCCESS);
  CHECK(in_first != in_second);
  CHECK(Run(in_first, 1, 1, nullptr, 5u) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxDestroy_v2(second) == CUDA_SUCCESS);
  REQUIRE(Run(reinterpret_cast<CUfunction>(kernel), 1, 1, nullptr, 7u) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(*reinterpret_cast<unsigned*>(here) == 7);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
  CHECK(Run(reinterpret_cast<CUfunction>(kernel), 1, 1, nullptr, 7u) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuLibraryUnload(library) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a managed variable has its first value before any context, and the same storage in all of them") {
  Session session;
  CUlibrary library;
  CUkernel kernel;
  REQUIRE(cuLibraryLoadData(&library, kManaged.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          CUDA_SUCCESS);
  CUdeviceptr address;
  size_t size;
  REQUIRE(cuLibraryGetManaged(&address, &size, library, "shared_by_all") == CUDA_SUCCESS);
  CHECK(size == 4);
  auto& value = *reinterpret_cast<unsigned*>(address);
  CHECK(value == 40);
  value = 100;
  REQUIRE(cuLibraryGetKernel(&kernel, library, "bump_managed") == CUDA_SUCCESS);
  REQUIRE(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 3, 1, 1, 0, nullptr, nullptr,
                         nullptr) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(value == 103);
  CUcontext second;
  REQUIRE(cuCtxCreate_v2(&second, 0, 0) == CUDA_SUCCESS);
  REQUIRE(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 2, 1, 1, 0, nullptr, nullptr,
                         nullptr) == CUDA_SUCCESS);
  REQUIRE(cuCtxSynchronize() == CUDA_SUCCESS);
  CHECK(value == 105);
  CHECK(cuCtxDestroy_v2(second) == CUDA_SUCCESS);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
}

TEST_CASE("threads that ask for the same kernel of a library at once get the same function") {
  Session session;
  CUlibrary library;
  REQUIRE(cuLibraryLoadData(&library, kBump.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
          CUDA_SUCCESS);
  std::array<CUfunction, 8> functions{};
  std::vector<std::thread> threads;
  for (CUfunction& function : functions) {
    threads.emplace_back([&] {
      CUkernel kernel;
      cuCtxSetCurrent(session.context);
      if (cuLibraryGetKernel(&kernel, library, "bump") == CUDA_SUCCESS)
        cuKernelGetFunction(&function, kernel);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(functions[0] != nullptr);
  for (const CUfunction function : functions) CHECK(function == functions[0]);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
}

TEST_CASE("what a kernel's text declares is answered without compiling it, sizes of its memory with it") {
  Session session;
  const std::string text = kHead + R"(
.visible .entry declares(.param .u32 first, .param .u64 second) .maxntid 96, 2, 1 {
  .shared .align 4 .b8 memory[256];
  .reg .u32 %r<2>;
  mov.u32 %r1, memory;
  st.shared.u32 [%r1], 1;
  ret;
}
)";
  CUmodule module;
  CUfunction function;
  REQUIRE(cuModuleLoadData(&module, text.c_str()) == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "declares") == CUDA_SUCCESS);
  int value = 0;
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS);
  CHECK(value == 192);
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS);
  size_t offset = 0, size = 0;
  CHECK(cuFuncGetParamInfo(function, 1, &offset, &size) == CUDA_SUCCESS);
  CHECK(offset == 8);
  CHECK(size == 8);
  CHECK(cuFuncGetParamInfo(function, 2, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  constexpr auto kDynamic = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  CHECK(cuFuncSetAttribute(function, kDynamic, 100000) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(function, kDynamic, -1) == CUDA_ERROR_INVALID_VALUE);
  CUfunctionLoadingState state;
  REQUIRE(cuFuncIsLoaded(&state, function) == CUDA_SUCCESS);
  CHECK(state == CU_FUNCTION_LOADING_STATE_UNLOADED);
  CHECK(cuFuncSetAttribute(function, kDynamic, 232448 - 256) == CUDA_SUCCESS);
  CHECK(cuFuncSetAttribute(function, kDynamic, 232448 - 255) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS);
  CHECK(value == 256);
  int blocks = 0;
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 0) == CUDA_SUCCESS);
  REQUIRE(cuFuncIsLoaded(&state, function) == CUDA_SUCCESS);
  CHECK(state == CU_FUNCTION_LOADING_STATE_UNLOADED);
  CHECK(cuFuncLoad(function) == CUDA_SUCCESS);
  REQUIRE(cuFuncIsLoaded(&state, function) == CUDA_SUCCESS);
  CHECK(state == CU_FUNCTION_LOADING_STATE_LOADED);
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS);
  CHECK(value == 192);
  CHECK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function) == CUDA_SUCCESS);
  CHECK(value == 256);
  int loaded_blocks = 0;
  CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&loaded_blocks, function, 64, 0) == CUDA_SUCCESS);
  CHECK(loaded_blocks == blocks);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
}
