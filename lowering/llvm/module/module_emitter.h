// What all functions of one emitted module share: types, variables, callees, services, alias scopes, debug
// info. Internal to lowering/llvm.
#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/function.h"
#include "lowering/forms.h"
#include "lowering/llvm/module/emit_options.h"
#include "lowering/llvm/module/inlined_calls.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "lowering/llvm/module/lane_report.h"
#include "lowering/llvm/module/target.h"

namespace ptx2cpu::lowering {

enum class Storage : uint8_t {
  kDefine,    // module variables are defined in the module
  kExternal,  // they are declared: a JIT owns them
};

struct EmitOptions {
  std::string kernel = {};  // empty: the only Collapsed kernel
  Target target;
  uint32_t lane_width = 0;  // lanes of a vector: 1, 4, 8, 16, 32 or 64; 0: what suits target and region
  ThreadIds thread_ids = ThreadIds::kBoth;
  Storage storage = Storage::kDefine;
  bool debug_info = true;
  bool debug_variables = false;  // names and places of local variables, of lanes that run one by one
  AlignmentChecks alignment = AlignmentChecks::kNoted;
  LaneReport* report = nullptr;              // receives what becomes of loops over threads
  std::string omit = {};                     // of OptionalRules, as JitOptions::omit
  std::set<std::string>* changed = nullptr;  // receives the names of OptionalRules that changed something
  bool Keeps(std::string_view rule) const { return !IsOmitted(omit, rule); }
  void NoteChange(std::string_view rule) const {
    if (changed != nullptr) changed->emplace(rule);
  }
};

// Rules of emission that code is right without, by name (PTX2CPU_OMIT).
inline constexpr std::string_view kRowsOfData = "divide-rows", kBlendedStores = "blend-stores";
inline constexpr std::string_view kOptionalRules[] = {kRowsOfData, kBlendedStores};

// The memories that never overlap, as alias scopes. Generic accesses may touch any of the first three.
enum class Memory : uint8_t { kGlobal, kShared, kLocal, kSlot, kContext, kGeneric };

// One DISubprogram per emitted function in the PTX file, and one per (source file) that .loc names; an
// instruction's location is its source line, inlined at its PTX line. Code to step through (`variables`) also
// has the functions that the compiler of the PTX has inlined in between.
class DebugInfo {
 public:
  DebugInfo(llvm::Module& module, const ir::Module& ir, bool variables);
  void Attach(llvm::Function& function, const ir::Function& f);
  llvm::DebugLoc Locate(const ir::Position& at);
  // The variables of the function that Attach was given last lie at their offsets from the address that
  // `base` (an alloca of a pointer) holds.
  void PlaceLocals(const ir::Function& f, llvm::AllocaInst* base);
  void Finish() { builder_.finalize(); }

 private:
  llvm::DIFile* FileOf(const std::string& path);
  // The function of the source that call number `call` has inlined; 0: what .loc does not name.
  llvm::DISubprogram* SourceOf(uint32_t file, uint32_t call);
  // Where the code of this call is inlined, at a line of the PTX.
  llvm::DILocation* CallSite(uint32_t call, llvm::DILocation* ptx_line);
  llvm::DIBuilder builder_;
  const ir::Module& ir_;
  llvm::DIFile* ptx_file_;
  llvm::DISubprogram* current_ = nullptr;
  InlinedCalls calls_;
  std::map<std::pair<uint32_t, std::string>, llvm::DISubprogram*> sources_;          // by file and function
  std::map<std::pair<llvm::DISubprogram*, uint32_t>, llvm::DILocation*> ptx_lines_;  // or the call there
};

struct ModuleEmitter {
  ModuleEmitter(llvm::LLVMContext& context, const ir::Module& ir, const EmitOptions& options,
                KernelLayout layout);

  llvm::LLVMContext& context;
  const ir::Module& ir;
  const EmitOptions& options;
  KernelLayout layout;
  TargetTraits traits;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<DebugInfo> debug;
  uint32_t param_bytes = 0;  // of the kernel
  uint32_t lane_width = 1;   // as in EmitOptions; 1: loops over lanes and threads
  // Entries of check_ranges (runtime/abi/check.h) by PTX line and size of the access.
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> check_ranges = {};

  // IR types as LLVM types; the 16-bit floats are i16, so no operation on them can become a library call.
  llvm::Type* TypeOf(ir::Type type);
  llvm::Type* MemoryTypeOf(ir::Type type);  // the same, i1 as i8

  Result<llvm::Constant*> VariableAddress(uint32_t index);  // .global and .const: a pointer
  // What the address of a function is: the variable of its identity (kernel_image.h).
  Result<llvm::Constant*> FunctionAddress(uint32_t index);
  Result<llvm::Function*> Callee(uint32_t index);  // a defined function: declared, body comes from Emit
  llvm::FunctionType* CalleeType(const std::vector<llvm::Type*>& parameters,
                                 const std::vector<llvm::Type*>& results);

  // Entry points, warp collectives, mathematical functions: declared from their tables.
  llvm::Function* Service(std::string_view name);
  // The same on vectors of `width` elements: of a function whose code is straight.
  llvm::Function* WideService(std::string_view name, unsigned width);

  // Scoped alias metadata for an access of this memory.
  void Annotate(llvm::Instruction* access, Memory memory);

 private:
  Result<llvm::Constant*> Initialiser(const ir::Variable& variable);
  Result<llvm::Constant*> Relocated(const ir::Variable& variable, const ir::Variable::Relocation& relocation);
  std::vector<llvm::Constant*> variables_;
  std::vector<llvm::Function*> callees_;
  llvm::MDNode* scopes_[5];  // a list of one scope each
  llvm::MDNode* others_[6];  // by Memory: scopes that it does not overlap
};

// An error at a place of the PTX.
std::unexpected<Error> Refuse(const ir::Module& module, ErrorCode code, const ir::Position& at,
                              std::string message, std::string hint = {});

}  // namespace ptx2cpu::lowering
