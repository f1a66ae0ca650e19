// Images of kernels as code of this process, and the variables of their modules. No LLVM type appears here.
//
// A KernelLoader owns the storage of module variables (one per name, shared by all kernels loaded) and all
// code; both live as long as it does. Calls from several threads are safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/result.h"
#include "lowering/load/kernel_image.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

struct LoadedKernel {
  const ptx2cpu_kernel* kernel = nullptr;  // descriptor for launchers; lives as long as the loader
  std::span<const std::byte> object;       // the object file it was loaded from
  uintptr_t code_begin = 0, code_end = 0;  // the kernel and its callees
};

class KernelLoader {
 public:
  // The functions that code may call besides memcpy and the like: all rows of the table
  // (runtime/entry/entry_point_list.h), which must outlive this.
  explicit KernelLoader(std::span<const ptx2cpu_entry_point> entry_points);
  ~KernelLoader();
  KernelLoader(const KernelLoader&) = delete;
  KernelLoader& operator=(const KernelLoader&) = delete;

  Result<LoadedKernel> Load(KernelImage image);
  // A descriptor without functions, of an image without an object; lives as long as the loader.
  const ptx2cpu_kernel* Describe(KernelImage image);
  // Provides variables with storage and their first contents. One whose contents name functions or shared
  // addresses waits for the first kernel that reaches it.
  Status Declare(const std::vector<VariableImage>& variables);

  // Storage of a .global or .const variable; nullptr before it was declared or a kernel that reaches it
  // loaded.
  std::byte* Variable(std::string_view name) const;
  // All variables with storage, in the order of their names. Where the caller provides the contents, the size
  // is unknown: 0.
  std::vector<std::pair<std::string, std::span<std::byte>>> Variables() const;
  // Storage for a variable that the caller owns; before it is declared or a kernel that uses it is loaded.
  enum class Contents : uint8_t {
    kKeep,     // the caller's
    kInitial,  // those of the PTX are written there when the variable is declared
  };
  Status Bind(std::string_view name, std::byte* address, Contents contents = Contents::kKeep);

  // The loaded kernel whose code an address is in; the image lives as long as the loader.
  struct Place {
    const KernelImage* image;  // without its variables
    uint64_t text_offset;      // in section .text of its object
  };
  std::optional<Place> PlaceOf(uintptr_t pc) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ptx2cpu::lowering
