// Translates PTX text to images of kernels. The implementation, with the compiler's rooms and LLVM, is in a
// shared object that is loaded when the first kernel must be compiled (runtime/engine/translator_object.h);
// code that includes this header links neither.
//
// Functions may throw (a failed CHECK, no memory, LLVM's fatal errors): the caller is the boundary that
// catches it (runtime/engine/contained.h), and provides a stack of several megabytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/fault_of_block.h"
#include "ir/result.h"
#include "lowering/forms.h"
#include "lowering/llvm/module/emit_options.h"
#include "lowering/load/kernel_image.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::lowering {

// A .global or .const variable.
struct DeclaredVariable {
  std::string name;
  uint64_t size = 0;  // bytes
  uint32_t align = 1;
  bool is_constant = false;
  bool is_managed = false;
  bool is_extern = false;    // declared only
  bool is_internal = false;  // no linkage: `static` in C++
};

struct DeclaredVariables {
  std::vector<DeclaredVariable> list;
  std::vector<VariableImage> images;  // those of functions' addresses too
};

// The declarations of a kernel's text, known without compiling it.
struct KernelDeclaration {
  struct Parameter {
    uint32_t offset = 0, size = 0;  // bytes; in the parameter buffer
  };
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> max_threads = {};       // .maxntid; 0: none
  std::array<uint32_t, 3> required_cluster = {};  // .reqnctapercluster; 0: none
};

// The options that decide on the code of a kernel, besides its text and the machine.
struct CodeOptions {
  std::optional<Dim3> block = {};  // code for blocks of this shape only, where that is better
  bool contract = true;            // the image's JIT option --fmad
  int optimisation = 3;            // 0..3
  bool line_info = true;           // PTX lines of faults
  AlignmentChecks alignment = AlignmentChecks::kNoted;
  uint32_t lane_width = 0;  // threads that a vector holds; 0: what suits a loop
  Tier tier = Tier::kAuto;
  CollapseForm collapse = CollapseForm::kAuto;
  uint32_t checks = 0;  // PTX2CPU_CHECKS_*: code that reports what it accesses
  bool counts = false;  // code that counts how often its blocks are entered (lowering/passes.h)
  MatrixSums matrix_sums = MatrixSums::kRecorded;
  std::string omit = {};  // Translator::OptionalPasses that are left out, with commas between them
  // Code to step through keeps each register where a debugger finds it by its name.
  bool KeepsRegisters() const { return line_info && optimisation == 0 && tier == Tier::kLanes; }
};

// The options of a compilation that do not change the code that is finally used.
struct CompileControl {
  static constexpr size_t kNever = ~size_t{0};
  // LLVM instructions from which on there is quick code first; as in Jit::CompileOptions. Scalar code takes
  // many times as long as the best, so it is made where a launch runs it for a short time only: where no
  // thread repeats anything, or where `many_blocks` are launched, most of which will run better code
  // (runtime/launch/later_code.h).
  size_t scalar_from = kNever, quick_from = kNever;
  bool many_blocks = false;
  // Kernels that may become one code with the one that is compiled, in quick code, where they share most of
  // what they call; `others` receives the images of those that do, without what is in the image that is
  // returned (WithCommonOf).
  std::span<const std::string> together = {};
  std::vector<KernelImage>* others = nullptr;
  const std::atomic<bool>* stop = nullptr;   // once it is set, compiling fails soon
  std::set<std::string>* changed = nullptr;  // receives the names of OptionalPasses that changed something
  bool print_remarks = false;                // what becomes of the loops over threads, on standard error
};

// Parsed PTX. Immutable; safe to use from several threads at once.
class TranslatedModule {
 public:
  virtual ~TranslatedModule() = default;
  // Checks every instruction against the table, reachable or not.
  virtual Status CheckInstructions() const = 0;
  virtual Result<DeclaredVariables> Variables() const = 0;
  // Translates the kernel and what it calls. Errors: those that translation finds.
  virtual Result<KernelDeclaration> Declaration(std::string_view kernel) const = 0;
  // The result of Compile for blocks of any shape, without object and variables; much faster.
  virtual Result<KernelImage> Describe(std::string_view kernel, const CodeOptions& options) const = 0;
  // File, line in it and the line itself, of a PTX line of a module that was linked of several.
  struct Place {
    SourcePosition at;
    std::string excerpt;
  };
  virtual Place PlaceOf(uint32_t ptx_line) const = 0;
  // The thread that met a fault, if another run of its block in the interpreter finds it
  // (ir/interpret/find_thread.h). `variables`: where those of the module are, by name.
  struct Storage {
    std::string name;
    std::byte* address = nullptr;
  };
  virtual Result<std::optional<ir::FaultingAccess>> ThreadOf(std::string_view kernel,
                                                             const ir::FaultOfBlock& fault,
                                                             std::span<const std::byte> params,
                                                             std::span<const Storage> variables) const = 0;
  // For the machine that PTX2CPU_TARGET names, else for this one. Nothing: code for the block's shape would
  // be no better than that for any.
  virtual Result<std::optional<KernelImage>> Compile(std::string_view kernel, const CodeOptions& options,
                                                     const CompileControl& control) const = 0;
};

struct PtxSource {
  std::string text;
  std::string name;  // for messages
};

// Code from this offset in section .text on.
struct CodeLine {
  uint64_t offset = 0;
  uint32_t ptx_line = 0;
  uint32_t source_file = 0, source_line = 0;  // of KernelImage::source_files; 0: not known
};

class Translator {
 public:
  // One module on its own: what it declares and does not define the program may provide. Errors: kSyntax.
  virtual Result<std::shared_ptr<const TranslatedModule>> Parse(PtxSource source) const = 0;
  // A complete program. Errors: kSyntax, kLink.
  virtual Result<std::shared_ptr<const TranslatedModule>> Link(std::vector<PtxSource> sources) const = 0;
  // The PTX line of an offset in section .text of an image's object; 0: not known.
  virtual uint32_t PtxLineOf(const KernelImage& image, uint64_t text_offset) const = 0;
  // The lines of all its code, in ascending order.
  virtual std::vector<CodeLine> LinesOf(const KernelImage& image) const = 0;
  // Passes without which kernels have the same results, more slowly: those over a kernel in the order in
  // which they run, then those over LLVM's code.
  virtual std::vector<std::string_view> OptionalPasses() const = 0;

 protected:
  ~Translator() = default;
};

// The one that this program or shared object has linked.
const Translator& LinkedTranslator();

// The function that the shared object exports: the translator, or null where it is of another build than the
// caller (identity.h).
using FindTranslator = const Translator*(const char* identity);
inline constexpr const char* kFindTranslator = "ptx2cpu_find_translator";

}  // namespace ptx2cpu::lowering
