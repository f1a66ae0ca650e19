// Kernels of tests, their modules over a cache, and their results.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/kernel_module.h"
#include "tests/cache/scratch.h"

namespace ptx2cpu::cache_test {

inline constexpr const char* kHeader = ".version 8.3\n.target sm_90\n.address_size 64\n";

// out[tid] = tid * factor + word, by way of a function.
inline std::string Kernel(const std::string& name, int factor = 3) {
  return ".visible .entry " + name +
         "(.param .u64 out)\n{\n  .reg .b64 %p<3>; .reg .b32 %t<4>;\n  ld.param.u64 %p0, [out];\n"
         "  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %p1, %t0, 4;\n  add.u64 %p0, %p0, %p1;\n  mul.lo.u32 %t1, "
         "%t0, " +
         std::to_string(factor) +
         ";\n  ld.global.u32 %t2, [word];\n  add.u32 %t1, %t1, %t2;\n  st.global.u32 [%p0], %t1;\n  "
         "ret;\n}\n";
}
inline const std::string kWord = ".visible .global .align 4 .u32 word = 100;\n";
inline const std::string kModule = kHeader + kWord + Kernel("k");

// A kernel of many instructions: out[tid] = a long chain of arithmetic on tid.
inline std::string LargeKernel() {
  std::string text =
      std::string(kHeader) +
      ".visible .entry large(.param .u64 out)\n{\n  .reg .b64 %p<3>; .reg .b32 %t<4>; .reg .f32 %f<3>;\n"
      "  ld.param.u64 %p0, [out];\n  mov.u32 %t0, %tid.x;\n  mul.wide.u32 %p1, %t0, 4;\n  add.u64 %p0, %p0, "
      "%p1;\n  cvt.rn.f32.u32 %f0, %t0;\n";
  for (int i = 0; i < 150; ++i) {
    text += "  mad.lo.u32 %t0, %t0, " + std::to_string(2 * i + 3) + ", " + std::to_string(i * 77777) +
            ";\n  shr.u32 %t1, %t0, " + std::to_string(i % 31 + 1) +
            ";\n  xor.b32 %t0, %t0, %t1;\n  fma.rn.f32 %f0, %f0, 0f3F7FF000, 0f3F800000;\n";
  }
  return text +
         "  cvt.rzi.u32.f32 %t2, %f0;\n  add.u32 %t0, %t0, %t2;\n  st.global.u32 [%p0], %t0;\n  ret;\n}\n";
}

inline std::shared_ptr<rt::KernelModule> ModuleOf(const std::string& text, rt::KernelCache* cache,
                                                  rt::ModuleOptions options = {},
                                                  const std::string& name = "test.ptx") {
  options.cache = cache;
  // Kernel() has its best code at once; work that the background has left would outlive the test's cache.
  options.scalar_from = 200;
  return rt::KernelModule::Make({{text, name}}, options);
}

inline std::shared_ptr<const rt::KernelCode> Compiled(const std::shared_ptr<rt::KernelModule>& module,
                                                      const std::string& kernel = "k") {
  auto code = module->Compile(kernel);
  if (!code) FAIL(code.error().Render());
  return *code;
}

inline std::vector<uint32_t> Run(const rt::KernelCode& code, uint32_t threads = 64) {
  std::vector<uint32_t> out(threads);
  uint32_t* const argument = out.data();
  auto kernel = code.ForBlock({threads, 1, 1});
  REQUIRE(kernel);
  const auto fault =
      rt::Launch(**kernel, {{1, 1, 1}, {threads, 1, 1}}, std::as_bytes(std::span(&argument, 1)));
  if (fault) FAIL(fault->message);
  return out;
}

inline std::map<std::string, std::string> Entries(const std::filesystem::path& directory) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().filename() != "lock")
      entries[std::filesystem::relative(entry.path(), directory)] = cache_test::Bytes(entry.path());
  }
  return entries;
}

}  // namespace ptx2cpu::cache_test
