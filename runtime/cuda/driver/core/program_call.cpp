#include "runtime/cuda/driver/core/program_call.h"

#include <dlfcn.h>
#include <elf.h>
#include <execinfo.h>
#include <link.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>

namespace ptx2cpu::driver {

namespace {

constexpr int kMaxFrames = 64;

// Our libraries are installed together; so is the folder of links with NVIDIA's names.
bool IsOurs(const Dl_info& frame, const std::string& folder) {
  const std::string file = frame.dli_fname == nullptr ? "" : frame.dli_fname;
  const std::string name = std::filesystem::path(file).filename();
  return file.starts_with(folder) && (name.starts_with("libcu") || name.starts_with("libptx2cpu"));
}

bool IsOfSystem(const Dl_info& frame) {
  const std::string name =
      std::filesystem::path(frame.dli_fname == nullptr ? "" : frame.dli_fname).filename();
  return name.starts_with("libc.so") || name.starts_with("libpthread") || name.starts_with("ld-linux");
}

// Programs that are linked to fixed addresses are looked up by these.
uintptr_t OffsetIn(const Dl_info& frame, uintptr_t address) {
  const auto base = reinterpret_cast<uintptr_t>(frame.dli_fbase);
  const auto* header = static_cast<const ElfW(Ehdr)*>(frame.dli_fbase);
  return header->e_type == ET_EXEC ? address : address - base;
}

std::string NameOf(const Dl_info& frame, uintptr_t address) {
  char offset[32];
  std::snprintf(offset, sizeof offset, "+0x%" PRIxPTR, OffsetIn(frame, address));
  std::string text = std::filesystem::path(frame.dli_fname).filename().string() + offset;
  if (frame.dli_sname != nullptr) text += std::string(" (") + frame.dli_sname + ")";
  return text;
}

}  // namespace

std::string ProgramCall() {
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&ProgramCall), &own) == 0 || own.dli_fname == nullptr) return {};
  const std::string folder = std::filesystem::path(own.dli_fname).parent_path();
  for (void* const frame : std::span(frames, static_cast<size_t>(count))) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(frame) - 1;  // inside the call
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr) continue;
    if (IsOurs(info, folder)) continue;
    return IsOfSystem(info) ? std::string() : NameOf(info, address);
  }
  return {};
}

}  // namespace ptx2cpu::driver
