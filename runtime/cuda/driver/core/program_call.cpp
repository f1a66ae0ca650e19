#include "runtime/cuda/driver/core/program_call.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unwind.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace ptx2cpu::driver {

namespace {

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

// The stack is walked from the innermost frame to the first that is not ours.
struct Walk {
  std::string folder;  // of our libraries
  std::string found = {};
};

_Unwind_Reason_Code LookAt(_Unwind_Context* frame, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  const uintptr_t address = _Unwind_GetIP(frame) - 1;  // inside the call
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_fname == nullptr)
    return _URC_NO_REASON;
  if (IsOurs(info, walk.folder)) return _URC_NO_REASON;
  if (!IsOfSystem(info)) walk.found = NameOf(info, address);
  return _URC_END_OF_STACK;
}

}  // namespace

std::string ProgramCall() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&ProgramCall), &own) == 0 || own.dli_fname == nullptr) return {};
  Walk walk{std::filesystem::path(own.dli_fname).parent_path()};
  _Unwind_Backtrace(&LookAt, &walk);
  return walk.found;
}

}  // namespace ptx2cpu::driver
