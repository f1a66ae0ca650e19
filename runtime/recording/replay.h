// Launches of a recording, run again without their program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/kernel_module.h"
#include "runtime/recording/reader.h"
#include "runtime/recording/replay_memory.h"

namespace ptx2cpu::rt::recording {

// Memory of one area that differs from the recorded contents.
struct Deviation {
  std::string text;  // of several lines: address, allocation and offset, the first element where it is known
};

class Replay {
 public:
  // `options`: how kernels are compiled, except for the options that the recording has of the module.
  Replay(const Reader& reader, ReplayMemory memory, ModuleOptions options)
      : reader_(reader), memory_(std::move(memory)), options_(options) {}

  // Sets memory as it was before the launch. Errors: kContainer.
  Status Enter(const LaunchRecord& launch);
  // Compiles the kernel if it is not compiled yet. This must come before Enter, because it writes the
  // variables. Errors: those of KernelModule::Compile.
  Result<std::shared_ptr<const KernelCode>> CodeOf(const LaunchRecord& launch);
  // Runs the launch with these options, except for those that the recording has. Null: it ran to its end.
  Result<std::optional<LaunchError>> Run(const LaunchRecord& launch, const KernelCode& code,
                                         LaunchOptions options);
  // The areas of memory that differ from the contents after the recorded launch.
  Result<std::vector<Deviation>> Deviations(const LaunchRecord& launch) const;

 private:
  struct Module {
    std::vector<NamedPlace> places;
    std::shared_ptr<KernelModule> module;
  };
  const Reader& reader_;
  ReplayMemory memory_;
  ModuleOptions options_;
  std::vector<Module> modules_;  // by number, as they were used last
};

// Describes an address in the area: "device memory 3 at 0x7f.. + 16".
std::string Describe(const Area& area, uint64_t offset);
// The contents of an area, from the numbers of its blocks. kNotFound: not all are stored.
Result<std::vector<std::byte>> ContentsOf(const BlockReader& blocks, const Area& area,
                                          const std::vector<uint32_t>& numbers);

}  // namespace ptx2cpu::rt::recording
