// Ahead-of-time files: what they contain, and that they run, also on other machines where an emulator is
// there.
#include "lowering/llvm/output/object.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ir/text/text.h"
#include "tests/llvm/kernels.h"

using namespace ptx2cpu;
using namespace ptx2cpu::lowering;
using namespace ptx2cpu::llvm_test;

namespace {

struct Kernels {
  std::vector<ir::Module> modules;
  std::vector<const ir::Module*> pointers;
};

// A resumable kernel of kernels/, under the file's name.
ir::Module ReadKernel(const std::string& name) {
  std::ifstream file(PTX2CPU_SOURCE_DIR "/tests/llvm/kernels/" + name + ".ir");
  auto module = ir::Parse(std::string(std::istreambuf_iterator<char>(file), {}), name);
  if (!module) FAIL(module.error().Render());
  module->functions[0].name = name;
  return std::move(*module);
}

const Kernels& AllKernels() {
  static const Kernels kernels = [] {
    Kernels k;
    k.modules.push_back(BuildKernel(kVecAdd, "vecadd"));
    k.modules.push_back(BuildKernel(kBlockSum, "block_sum"));
    k.modules.push_back(BuildKernel(kExotic, "exotic"));
    for (const char* name : {"lanes_red", "warps_pipe"}) k.modules.push_back(ReadKernel(name));
    for (const ir::Module& module : k.modules) k.pointers.push_back(&module);
    return k;
  }();
  return kernels;
}

std::string Compile(FileKind kind, const std::string& target) {
  auto resolved = ResolveTarget(target);
  REQUIRE(resolved);
  auto bytes = CompileFile(AllKernels().pointers, kind, {.target = *resolved});
  if (!bytes) FAIL(target << ": " << bytes.error().Render());
  return *bytes;
}

std::filesystem::path Write(const std::string& name, const std::string& bytes) {
  auto path = std::filesystem::path(PTX2CPU_BINARY_DIR) / ("llvm_test_" + name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

bool Have(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

struct Output {
  int code;
  std::string text;
};
Output Shell(const std::string& command) {
  Output output{-1, ""};
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, pipe)) > 0) output.text.append(buffer, got);
  int status = pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return output;
}

// Links the object with freestanding_main.c and runs it.
Output RunOn(const std::string& target, const std::string& clang_target, const std::string& extra,
             const std::string& emulator) {
  const std::string source = PTX2CPU_SOURCE_DIR;
  std::string object = Write(clang_target + ".o", Compile(FileKind::kObject, target)).string();
  std::string program = (std::filesystem::path(PTX2CPU_BINARY_DIR) / ("llvm_test_" + clang_target)).string();
  // Entry points that these kernels never call may stay unresolved.
  Output link = Shell("clang-19 --target=" + clang_target + " " + extra +
                      " -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fuse-ld=lld" +
                      " -Wl,--unresolved-symbols=ignore-all -I" + source + " " + source +
                      "/tests/llvm/freestanding_main.c " + object + " -o " + program);
  INFO(link.text);
  REQUIRE(link.code == 0);
  return Shell(emulator + " " + program);
}

}  // namespace

TEST_CASE("objects for several machines run and agree") {
  if (!Have("clang-19") || !Have("ld.lld")) {
    WARN("clang-19 or lld is missing: objects are not run");
    return;
  }
  Output native = RunOn("x86-64-v3", "x86_64-linux-gnu", "", "");
  CHECK(native.code == 0);
  CHECK(native.text.size() == 3 * 96 * 9);
  struct Other {
    const char *target, *clang, *flags, *emulator;
  };
  const Other others[] = {
      {"native", "x86_64-linux-gnu", "", ""},
      {"aarch64-linux-gnu", "aarch64-linux-gnu", "", "qemu-aarch64"},
      {"riscv64-linux-gnu", "riscv64-linux-gnu", "-march=rv64gc -mabi=lp64d -mno-relax", "qemu-riscv64"}};
  for (const Other& other : others) {
    if (*other.emulator != 0 && !Have(other.emulator)) {
      WARN(other.emulator << " is missing: " << other.target << " is not run");
      continue;
    }
    INFO(other.target);
    Output output = RunOn(other.target, other.clang, other.flags, other.emulator);
    CHECK(output.code == 0);
    CHECK(output.text == native.text);
  }
}

TEST_CASE("every kind of file is written for every named target", "[long]") {
  for (const char* target :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64-linux-gnu", "riscv64-linux-gnu"}) {
    INFO(target);
    CHECK(Compile(FileKind::kObject, target)
              .starts_with("\x7f"
                           "ELF"));
    std::string assembly = Compile(FileKind::kAssembly, target);
    CHECK(assembly.find("ptx2cpu_block_block_sum:") != std::string::npos);
    CHECK(assembly.find("ptx2cpu_step_lanes_red:") != std::string::npos);
  }
  CHECK(Compile(FileKind::kLlvm, "x86-64-v3").find("define void @ptx2cpu_block_vecadd(") !=
        std::string::npos);
  if (Have("ld.lld") || Have("ld.lld-19"))
    CHECK(Compile(FileKind::kSharedObject, "aarch64-linux-gnu")
              .starts_with("\x7f"
                           "ELF"));
}

TEST_CASE("the header is C and C++ and types its parameters") {
  auto header = WriteHeader(AllKernels().pointers, "kernels");
  REQUIRE(header);
  CHECK(header->find("vecadd_launch(const uint32_t grid[3], const uint32_t block[3], uint32_t "
                     "dynamic_shared_bytes, void* arg0, void* arg1, void* arg2, uint32_t arg3)") !=
        std::string::npos);
  auto path = Write("kernels.h", *header).string();
  if (!Have("clang-19")) return;
  for (const char* language : {"c", "c++"}) {
    Output check = Shell(std::string("clang-19 -fsyntax-only -Wall -Werror -Wno-unused-function -x ") +
                         language + " " + path);
    INFO(check.text);
    CHECK(check.code == 0);
  }
}

TEST_CASE("unknown targets and file names are refused") {
  CHECK(ResolveTarget("z80-unknown-none").error().code == ErrorCode::kUsage);
  CHECK(ResolveTarget("powerpc64le-linux-gnu").error().code == ErrorCode::kUsage);
  CHECK(ResolveTarget("i386-linux-gnu").error().code == ErrorCode::kUsage);
  CHECK(FileKindOf("kernel.txt").error().code == ErrorCode::kUsage);
}
