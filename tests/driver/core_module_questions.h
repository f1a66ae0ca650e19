// Questions of core_questions.h: modules, libraries, functions, the linker.
#pragma once

#include "core_kernels.h"

namespace core_questions {

inline void AskModules() {
  Start();
  CUmodule module = nullptr;
  CUfunction function = nullptr, again = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0, offset = 0;
  unsigned count = 0;
  const char* name = nullptr;
  const std::string broken = std::string(kPtx) + ".visible .entry broken() { add.u32 %nothing, 1; }\n";
  const std::string unknown = std::string(kPtx) + ".visible .entry odd() { nosuch.u32; }\n";
  char log[4096] = "untouched";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_WALL_TIME};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), nullptr};
  CUjit_option bad_name = static_cast<CUjit_option>(999);
  TELL("load null", cuModuleLoadData(nullptr, kPtx));
  TELL("load nothing", cuModuleLoadData(&module, nullptr));
  TELL("load garbage", cuModuleLoadData(&module, "this is no PTX at all, whatever one may think of it"));
  TELL("load empty", cuModuleLoadData(&module, "\0\0\0\0\0\0\0\0"));
  TELL("load broken", cuModuleLoadData(&module, broken.c_str()));
  TELL("load unknown instruction", cuModuleLoadData(&module, unknown.c_str()));
  TELL("load broken, log", cuModuleLoadDataEx(&module, broken.c_str(), 3, names, values));
  TELL("log is written", CUDA_SUCCESS, std::strlen(log) > 10, std::strcmp(log, "untouched") != 0);
  TELL("load option 999", cuModuleLoadDataEx(&module, kPtx, 1, &bad_name, values));
  TELL("load file", cuModuleLoad(&module, "/nowhere/at/all.ptx"));
  TELL("load file null", cuModuleLoad(&module, nullptr));
  TELL("load", cuModuleLoadData(&module, kPtx));
  TELL("function count", cuModuleGetFunctionCount(&count, module), count);
  TELL("function null", cuModuleGetFunction(nullptr, module, "add"));
  TELL("function no name", cuModuleGetFunction(&function, module, nullptr));
  TELL("function empty", cuModuleGetFunction(&function, module, ""));
  TELL("function missing", cuModuleGetFunction(&function, module, "missing"));
  TELL("function of variable", cuModuleGetFunction(&function, module, "counter"));
  TELL("function of no module", cuModuleGetFunction(&function, nullptr, "add"));
  TELL("function", cuModuleGetFunction(&function, module, "add"));
  TELL("function again", cuModuleGetFunction(&again, module, "add"), function == again);
  TELL("global", cuModuleGetGlobal_v2(&address, &size, module, "counter"), size, address != 0);
  TELL("global constant", cuModuleGetGlobal_v2(&address, &size, module, "table"), size);
  TELL("global size only", cuModuleGetGlobal_v2(nullptr, &size, module, "table"), size);
  TELL("global neither", cuModuleGetGlobal_v2(nullptr, nullptr, module, "table"));
  TELL("global missing", cuModuleGetGlobal_v2(&address, &size, module, "missing"));
  TELL("global of function", cuModuleGetGlobal_v2(&address, &size, module, "add"));
  TELL("global no name", cuModuleGetGlobal_v2(&address, &size, module, nullptr));
  TELL("name", cuFuncGetName(&name, function), std::strcmp(name, "add"));
  TELL("name null", cuFuncGetName(nullptr, function));
  TELL("parameter 0", cuFuncGetParamInfo(function, 0, &offset, &size), offset, size);
  TELL("parameter 1", cuFuncGetParamInfo(function, 1, &offset, &size), offset, size);
  TELL("parameter 2", cuFuncGetParamInfo(function, 2, &offset, &size), offset, size);
  TELL("parameter 3", cuFuncGetParamInfo(function, 3, &offset, &size));
  TELL("parameter null", cuFuncGetParamInfo(function, 0, nullptr, &size));
  TELL("parameter without size", cuFuncGetParamInfo(function, 1, &offset, nullptr), offset);
  CUmodule back = nullptr;
  TELL("module of function", cuFuncGetModule(&back, function), back == module);
  TELL("unload", cuModuleUnload(module));
  TELL("unload null", cuModuleUnload(nullptr));
}

inline void AskLibraries() {
  Start();
  CUlibrary library = nullptr, owner = nullptr;
  CUkernel kernel = nullptr, again = nullptr, many[16] = {};
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  size_t size = 0, offset = 0;
  unsigned count = 0;
  int number = 0;
  const char* name = nullptr;
  TELL("library null", cuLibraryLoadData(nullptr, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library nothing", cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library garbage", cuLibraryLoadData(&library, "no PTX, no cubin, nothing to see here", nullptr,
                                            nullptr, 0, nullptr, nullptr, 0));
  TELL("library file",
       cuLibraryLoadFromFile(&library, "/nowhere/at/all", nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("library", cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  TELL("kernel missing", cuLibraryGetKernel(&kernel, library, "missing"));
  TELL("kernel null", cuLibraryGetKernel(nullptr, library, "add"));
  TELL("kernel", cuLibraryGetKernel(&kernel, library, "add"));
  TELL("kernel again", cuLibraryGetKernel(&again, library, "add"), kernel == again);
  TELL("kernel count", cuLibraryGetKernelCount(&count, library), count);
  TELL("enumerate", cuLibraryEnumerateKernels(many, 16, library));
  TELL("enumerate none", cuLibraryEnumerateKernels(many, 0, library));
  TELL("function", cuKernelGetFunction(&function, kernel), function != nullptr);
  TELL("library of kernel", cuKernelGetLibrary(&owner, kernel), owner == library);
  TELL("kernel name", cuKernelGetName(&name, kernel), std::strcmp(name, "add"));
  TELL("kernel parameter 2", cuKernelGetParamInfo(kernel, 2, &offset, &size), offset, size);
  TELL("kernel parameter 3", cuKernelGetParamInfo(kernel, 3, &offset, &size));
  TELL("kernel attribute", cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 0),
       number);
  TELL("kernel attribute of none",
       cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 99));
  TELL("kernel set attribute",
       cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, 0));
  TELL("kernel attribute after",
       cuKernelGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0), number);
  TELL("global", cuLibraryGetGlobal(&address, &size, library, "counter"), size);
  TELL("global missing", cuLibraryGetGlobal(&address, &size, library, "missing"));
  TELL("managed missing", cuLibraryGetManaged(&address, &size, library, "counter"));
  TELL("unified missing", cuLibraryGetUnifiedFunction(reinterpret_cast<void**>(&address), library, "add"));
  TELL("module", cuLibraryGetModule(&module, library));
  TELL("unload its module", cuModuleUnload(module));
  TELL("launch kernel",
       cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  TELL("attribute by kernel as function", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                                             reinterpret_cast<CUfunction>(kernel)));
  TELL("unload", cuLibraryUnload(library));
  TELL("unload null", cuLibraryUnload(nullptr));
}

inline void AskFunctionSettings() {
  Kernels k;
  int number = 0;
  size_t size = 0;
  TELL("max threads", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.nothing),
       number);
  TELL("max threads bounded", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.bounded),
       number);
  TELL("max threads required",
       cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.required), number);
  TELL("static shared", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, k.shares), number);
  TELL("ptx version", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_PTX_VERSION, k.nothing), number);
  TELL("max dynamic", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.nothing),
       number);
  TELL("max dynamic of shares",
       cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.shares), number);
  TELL("carveout", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, k.nothing),
       number);
  TELL("cluster must be set",
       cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, k.nothing), number);
  TELL("cluster width", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, k.nothing),
       number);
  TELL("non portable",
       cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, k.nothing), number);
  TELL("attribute 16", cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(16), k.nothing));
  TELL("attribute -1", cuFuncGetAttribute(&number, static_cast<CUfunction_attribute>(-1), k.nothing));
  TELL("attribute null", cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k.nothing));
  TELL("attribute of null", cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, nullptr));
  TELL("set max threads", cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 10));
  TELL("set max dynamic 96K",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 96 << 10));
  TELL("set max dynamic 1",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1));
  TELL("max dynamic now",
       cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k.nothing), number);
  TELL("set max dynamic -1",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
  TELL("set max dynamic 1M",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20));
  TELL("set max dynamic full",
       cuFuncSetAttribute(k.shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1024));
  TELL("set max dynamic full and 1",
       cuFuncSetAttribute(k.shares, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1023));
  TELL("set carveout 50",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
  TELL("set carveout 101",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
  TELL("set carveout -2",
       cuFuncSetAttribute(k.nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2));
  TELL("set cache", cuFuncSetCacheConfig(k.nothing, CU_FUNC_CACHE_PREFER_L1));
  TELL("set cache 9", cuFuncSetCacheConfig(k.nothing, static_cast<CUfunc_cache>(9)));
  TELL("occupancy", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 1024, 0), number);
  TELL("occupancy 0 threads", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 0, 0));
  TELL("occupancy 2000 threads", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.nothing, 2000, 0),
       number);
  TELL("occupancy bounded", cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.bounded, 128, 0), number);
  TELL("occupancy too much shared",
       cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.add, 32, 100 << 10), number);
  TELL("occupancy null", cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, k.nothing, 32, 0));
  TELL("occupancy flags 2",
       cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&number, k.nothing, 32, 0, 2));
  cuFuncSetAttribute(k.add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 << 10);
  TELL("occupancy of 100K opted in",
       cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, k.add, 32, 100 << 10), number);
  int grid = 0, block = 0;
  TELL("potential", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.nothing, nullptr, 0, 0), block);
  TELL("potential of bounded", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.bounded, nullptr, 0, 0),
       block);
  TELL("potential up to 100", cuOccupancyMaxPotentialBlockSize(&grid, &block, k.nothing, nullptr, 0, 100),
       block);
  TELL("available shared", cuOccupancyAvailableDynamicSMemPerBlock(&size, k.nothing, 1, 1024));
  TELL("available shared of 0 blocks", cuOccupancyAvailableDynamicSMemPerBlock(&size, k.nothing, 0, 1024));
}

inline void AskLinks() {
  Start();
  static char caller[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .u32 r) twice(.param .u32 "
      "a);\n.extern .global .u32 shared_counter;\n"
      ".visible .entry calls() {\n.reg .u32 %r<3>;\n.reg .u64 %rd<2>;\n{ .param .u32 a; .param .u32 r; "
      "st.param.u32 [a], 21; call (r), twice, (a); ld.param.u32 %r1, [r]; }\n"
      "mov.u64 %rd1, shared_counter;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
  static char callee[] =
      ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .u32 shared_counter;\n.visible .func "
      "(.param .u32 r) twice(.param .u32 a) {\n.reg .u32 %r<3>;\n"
      "ld.param.u32 %r1, [a];\nadd.u32 %r2, %r1, %r1;\nst.param.u32 [r], %r2;\nret;\n}\n";
  CUlinkState state = nullptr;
  void* image = nullptr;
  size_t size = 0;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr address = 0;
  TELL("link null", cuLinkCreate_v2(0, nullptr, nullptr, nullptr));
  TELL("link", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link complete empty", cuLinkComplete(state, &image, &size));
  TELL("link add null", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, nullptr, 10, "a", 0, nullptr, nullptr));
  TELL("link add size 0", cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, 0, "a", 0, nullptr, nullptr));
  TELL("link add type 99", cuLinkAddData_v2(state, static_cast<CUjitInputType>(99), caller, sizeof caller,
                                            "a", 0, nullptr, nullptr));
  TELL("link add file", cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/nowhere/at/all", 0, nullptr, nullptr));
  TELL("link destroy", cuLinkDestroy(state));
  TELL("link unresolved", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link add caller",
       cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr));
  TELL("link complete unresolved", cuLinkComplete(state, &image, &size));
  TELL("link destroy unresolved", cuLinkDestroy(state));
  TELL("link again", cuLinkCreate_v2(0, nullptr, nullptr, &state));
  TELL("link add caller again",
       cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, caller, sizeof caller, nullptr, 0, nullptr, nullptr));
  TELL("link add callee",
       cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee", 0, nullptr, nullptr));
  TELL("link complete", cuLinkComplete(state, &image, &size), image != nullptr, size > 0);
  TELL("link load", cuModuleLoadData(&module, image));
  TELL("link destroy after", cuLinkDestroy(state));
  TELL("link function", cuModuleGetFunction(&function, module, "calls"));
  TELL("link launch", Launch(function, 1, 1));
  cuModuleGetGlobal_v2(&address, &size, module, "shared_counter");
  unsigned value = 0;
  TELL("link result", cuMemcpyDtoH_v2(&value, address, 4), value);
}

}  // namespace core_questions
