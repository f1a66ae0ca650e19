// Finds the PTX to translate in an argument of the CUDA API: a fat binary in memory, PTX text, or a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/kernel_module.h"

namespace ptx2cpu::rt {

// The source of a KernelModule. Several texts are relocatable PTX that is linked.
struct ModuleSource {
  std::vector<PtxText> texts;
  ModuleOptions options;
};

// Memory as cuModuleLoadData takes it, whose contents determine its size: a fat binary (with or without its
// 24-byte wrapper), PTX text that ends with NUL, or machine code. `sm`: of the device, 90 for 9.0; 0: the
// highest portable image. Errors: kNoPtx (machine code only, or no PTX for the device), kContainer, kUsage
// (nothing of these).
Result<ModuleSource> SourceInMemory(const void* image, uint32_t sm, std::string name);

// The containers of a device link (__cudaRegisterLinkedBinary) as one module.
Result<ModuleSource> SourceOfLinked(std::span<const void* const> containers, uint32_t sm, std::string name);

// A file as cuModuleLoad takes it. Every container of it that has PTX for the device: one module each,
// relocatable ones together.
Result<std::vector<ModuleSource>> SourcesInFile(const std::filesystem::path& file, uint32_t sm);

// The image that run-time linking has made (linked_image.h), as one module. Libraries in it need no PTX.
Result<ModuleSource> SourceOfLinkedImage(const void* image, uint32_t sm);

// The device runtime of a toolkit (libcudadevrt.a): it needs functions that only the toolkit's own driver
// has. The functions that it defines are built in here (runtime/device).
bool IsDeviceRuntime(std::string_view text);

}  // namespace ptx2cpu::rt
