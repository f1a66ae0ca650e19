// The C++ interface of ptx2cpu: load a file with CUDA kernels, get a kernel, launch it on the CPU.
//
// clang-format off
//     auto program = ptx2cpu::Program::Load("./saxpy");                 // executable, library, .fatbin, .ptx ...
//     auto kernel = program->Get("saxpy");                              // compiled on first use
//     std::vector<float> x(n, 1), y(n, 2);
//     kernel->Launch({.grid = {n / 256}, .block = {256}}, n, 2.0f, x.data(), y.data());
// clang-format on
//
// Device pointers are host pointers. Launch returns when the grid is done. Everything here may be called from
// several threads at once. Results are std::expected; the error reports what is wrong and what to do
// (ir/result.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu {

struct LoadOptions {
  uint32_t sm = 0;  // choose images as a device of this compute capability (90 for 9.0); 0: the highest
  std::string collapse = "auto";  // auto, flat or hierarchical
  std::string exec = "auto";      // execution tier: auto, flat, warp, resumable or lanes
  unsigned opt_level = 3;         // 0..3
  bool check_alignment = false;   // look for misaligned accesses at each access, slowly: faults name the
                                  // thread, and no later access runs
  unsigned width = 0;             // threads that a vector holds: 1, 4, 8, 16, 32 or 64; 0: chosen per loop
  bool checks = true;            // what PTX2CPU_CHECK asks for; false: this program's kernels are not checked
  bool any_order = false;        // for launches with Shape::order: lanes one by one, also between accesses
  std::string matrix_sums = {};  // recorded or chained (README.md); empty: as PTX2CPU_MATRIX_SUMS has it
  std::string omit = {};  // passes that are left out, to measure their gain (tools/bench/suite/README.md);
                          // empty: those that PTX2CPU_OMIT names
};

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
};

struct Shape {
  Extent grid = {}, block = {};                      // in blocks, in threads
  uint32_t shared_bytes = 0;                         // dynamic shared memory
  unsigned max_workers = 0;                          // threads to use; 0: all
  std::function<void(std::string_view)> print = {};  // device printf; default: standard output
  Extent cluster = {};       // blocks of a cluster; 1,1,1: what the kernel requires, or none
  bool cooperative = false;  // all blocks are resident at once, so that they may meet at grid barriers
  // For programs loaded with any_order: on one thread, blocks, warps and lanes run in another order that CUDA
  // allows, which this seed decides; none: in index order.
  std::optional<uint64_t> order = {};
};

struct Parameter {
  std::string name;
  uint32_t offset = 0, size = 0, align = 1;  // in the parameter buffer, bytes
};

// A compiled kernel. Copies share the code, which lives as long as any of them.
class Kernel {
 public:
  const std::string& name() const;
  std::span<const Parameter> parameters() const;
  uint32_t parameter_bytes() const;
  uint32_t static_shared_bytes() const;
  double compile_milliseconds() const;

  // `buffer` has the layout that parameters() returns. Errors: kLaunch (shape, resources), kFault (with
  // block, thread, PTX line).
  Status LaunchPacked(const Shape& shape, std::span<const std::byte> buffer) const;

  // Blocks that a cooperative launch of this shape can have; its grid is ignored. Errors: kLaunch
  // (shape).
  Result<uint64_t> MaxCooperativeBlocks(const Shape& shape) const;

  // Packs arguments by value in order; each must have the size of its parameter (kUsage otherwise).
  template <typename... Args>
  Status Launch(const Shape& shape, const Args&... args) const;

  struct State;
  explicit Kernel(std::shared_ptr<const State> state) : state_(std::move(state)) {}

 private:
  Result<size_t> Place(size_t index, size_t size) const;  // offset of parameter `index`, checked
  std::shared_ptr<const State> state_;
};

struct PtxText {
  std::string text;
  std::string name = "<ptx>";  // for messages
};

// The PTX modules of one file, or several that were linked. Copies share it.
class Program {
 public:
  static Result<Program> Load(const std::filesystem::path& file, const LoadOptions& options = {});
  static Result<Program> FromPtx(std::string text, std::string name = "<ptx>",
                                 const LoadOptions& options = {});
  // Relocatable modules that make one program, as nvcc -rdc=true -ptx writes them. (Load links those of an
  // -rdc program automatically.) Errors: kLink when Get needs the modules: definitions that contradict each
  // other, or a function or variable that the kernel reaches and no module defines.
  static Result<Program> Link(std::vector<PtxText> modules, const LoadOptions& options = {});

  std::vector<std::string> KernelNames() const;
  // Compiles at the first call. The name as in PTX, or the plain name of a C++ function where only one kernel
  // has it.
  Result<Kernel> Get(std::string_view name) const;
  // Storage of a __device__ or __constant__ variable of the module that defines it; shared by all its
  // kernels.
  Result<std::span<std::byte>> Variable(std::string_view name) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

template <typename... Args>
Status Kernel::Launch(const Shape& shape, const Args&... args) const {
  static_assert((std::is_trivially_copyable_v<Args> && ...), "kernel arguments are passed by value");
  if (sizeof...(Args) != parameters().size()) {
    return Fail(ErrorCode::kUsage, "kernel '" + name() + "' takes " + std::to_string(parameters().size()) +
                                       " arguments, got " + std::to_string(sizeof...(Args)));
  }
  std::vector<std::byte> buffer(parameter_bytes());
  size_t index = 0;
  Status status;
  const auto put = [&](const auto& value) {
    if (!status) return;
    const Result<size_t> offset = Place(index++, sizeof value);
    if (!offset)
      status = Fail(offset.error());
    else
      std::memcpy(&buffer[*offset], &value, sizeof value);
  };
  (put(args), ...);
  if (!status) return status;
  return LaunchPacked(shape, buffer);
}

}  // namespace ptx2cpu
