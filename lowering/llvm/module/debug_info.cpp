#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "lowering/llvm/module/module_emitter.h"

namespace ptx2cpu::lowering {

namespace {
constexpr const char* kProducer = "ptx2cpu";
}

DebugInfo::DebugInfo(llvm::Module& module, const ir::Module& ir, bool variables) : builder_(module), ir_(ir) {
  ptx_file_ = FileOf(ir.name.empty() ? "kernel.ptx" : ir.name);
  builder_.createCompileUnit(
      llvm::dwarf::DW_LANG_C, ptx_file_, kProducer, true, "", 0, "",
      variables ? llvm::DICompileUnit::FullDebug : llvm::DICompileUnit::LineTablesOnly);
  // Files of linked texts have other numbers in each.
  if (variables && ir.parts.empty()) calls_ = InlinedCalls::Read(ir.text);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 5);
}

llvm::DIFile* DebugInfo::FileOf(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return builder_.createFile(path, ".");
  return builder_.createFile(path.substr(slash + 1), path.substr(0, slash));
}

void DebugInfo::Attach(llvm::Function& function, const ir::Function& f) {
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  current_ = builder_.createFunction(
      ptx_file_, f.name, function.getName(), ptx_file_, f.at.ptx_line, type, f.at.ptx_line,
      llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(current_);
}

// As numbers without sign; what has no such size is bytes.
void DebugInfo::PlaceLocals(const ir::Function& f, llvm::AllocaInst* base) {
  namespace dwarf = llvm::dwarf;
  auto* byte = builder_.createBasicType("unsigned char", 8, dwarf::DW_ATE_unsigned_char);
  const llvm::DILocation* at = llvm::DILocation::get(current_->getContext(), f.at.ptx_line, 0, current_);
  for (const ir::LocalVariable& local : f.locals) {
    llvm::DIType* type = nullptr;
    if (local.size == 1 || local.size == 2 || local.size == 4 || local.size == 8) {
      type = builder_.createBasicType("u" + std::to_string(local.size * 8), uint64_t{local.size} * 8,
                                      dwarf::DW_ATE_unsigned);
    } else {
      type = builder_.createArrayType(
          uint64_t{local.size} * 8, 8, byte,
          builder_.getOrCreateArray({builder_.getOrCreateSubrange(0, int64_t{local.size})}));
    }
    auto* variable = builder_.createAutoVariable(current_, local.name, ptx_file_, f.at.ptx_line, type, true);
    auto* place = builder_.createExpression({dwarf::DW_OP_deref, dwarf::DW_OP_plus_uconst, local.offset});
    builder_.insertDeclare(base, variable, place, at, base->getParent());
  }
}

llvm::DISubprogram* DebugInfo::SourceOf(uint32_t file, uint32_t call) {
  const std::string name = call == 0 ? "" : calls_[call].function;
  llvm::DISubprogram*& source = sources_[{file, name}];
  if (source == nullptr) {
    llvm::DIFile* in = FileOf(ir_.source_files[file]);
    auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
    source = builder_.createFunction(
        in, name.empty() ? in->getFilename() : llvm::StringRef(name), "", in, 0, type, 0,
        llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  }
  return source;
}

llvm::DILocation* DebugInfo::CallSite(uint32_t call, llvm::DILocation* ptx_line) {
  const InlinedCalls::Call& made = calls_[call];
  if (made.file == 0 || made.file >= ir_.source_files.size()) return ptx_line;
  llvm::DILocation* const outer = made.caller == 0 ? ptx_line : CallSite(made.caller, ptx_line);
  return llvm::DILocation::getDistinct(current_->getContext(), made.line, 0, SourceOf(made.file, made.caller),
                                       outer);
}

llvm::DebugLoc DebugInfo::Locate(const ir::Position& at) {
  llvm::LLVMContext& context = current_->getContext();
  if (at.source_line == 0 || at.source_file == 0 || at.source_file >= ir_.source_files.size()) {
    return llvm::DILocation::get(context, at.ptx_line, 0, current_);
  }
  const uint32_t call = calls_.At(at.ptx_line);
  llvm::DILocation*& inlined_at = ptx_lines_[{current_, at.ptx_line}];
  if (inlined_at == nullptr) {
    inlined_at = llvm::DILocation::getDistinct(context, at.ptx_line, 0, current_);
    if (call != 0) inlined_at = CallSite(call, inlined_at);
  }
  return llvm::DILocation::get(context, at.source_line, 0, SourceOf(at.source_file, call), inlined_at);
}

}  // namespace ptx2cpu::lowering
