// One launch as the tool, the vectors and the corpus describe it, run by any engine: arguments in, buffers
// out.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"
#include "runtime/abi/limits.h"
#include "tools/harness/images.h"
#include "tools/record/spec.h"

namespace ptx2cpu::ir {
struct Module;
struct Param;
}  // namespace ptx2cpu::ir

namespace ptx2cpu::harness {

struct KernelCall {
  Dim3 grid, block;
  uint32_t shared_bytes = 0;            // dynamic
  std::vector<rt::Argument> arguments;  // buffers hold their contents before the launch, and after it
  std::vector<std::pair<std::string, std::vector<std::byte>>> variables = {};  // module variables set before
  std::string printed = {};                                                    // device printf
  bool cooperative = false;             // all blocks resident at once: they may meet at grid barriers
  Dim3 cluster = {0, 0, 0};             // blocks that run as a cluster; 0: what the kernel requires, or one
  bool guarded = false;                 // compiled code: what follows a buffer's last page is not accessible
  std::shared_ptr<Images> images = {};  // during a run: the arguments' textures and surfaces
};

// Around a run: makes the images; afterwards copies what the kernel wrote to surfaces back, and variables
// that were bound to an image are unbound: an object's variables outlive the run.
class ImageScope {
 public:
  explicit ImageScope(KernelCall& call);
  ~ImageScope();
  ImageScope(const ImageScope&) = delete;
  // Stores the handles of images with names into the variables, whose addresses `find` returns; null: there
  // is none.
  Status Bind(const std::function<std::byte*(const std::string& name)>& find);

 private:
  KernelCall& call_;
  std::vector<std::byte*> bound_;  // addresses of handles
};

// The parameter buffer for a kernel: scalars by value, buffers as addresses of the call's own storage, or of
// copies, by number of the argument. kUsage errors: wrong number of arguments, wrong size; they name the
// parameter.
Result<std::vector<std::byte>> PackParameters(const std::vector<ir::Param>& params, uint32_t param_bytes,
                                              KernelCall& call, std::span<std::byte* const> copies = {});

// Runs functions[0] of the module in the interpreter, whatever phase it is in.
struct Turns {  // as ir::InterpretOptions
  uint64_t slice = 10000;
  bool backwards = false;
  uint64_t instruction_limit = 0;
  uint8_t fill = 0;
};
Status RunInterpreter(const ir::Module& module, KernelCall& call, Turns turns = {});

}  // namespace ptx2cpu::harness
