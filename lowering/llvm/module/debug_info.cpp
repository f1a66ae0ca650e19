#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "lowering/llvm/module/module_emitter.h"

namespace ptx2cpu::lowering {

namespace {
constexpr const char* kProducer = "ptx2cpu";
}

DebugInfo::DebugInfo(llvm::Module& module, const ir::Module& ir) : builder_(module), ir_(ir) {
  ptx_file_ = FileOf(ir.name.empty() ? "kernel.ptx" : ir.name);
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, ptx_file_, kProducer, true, "", 0, "",
                             llvm::DICompileUnit::LineTablesOnly);
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

llvm::DebugLoc DebugInfo::Locate(const ir::Position& at) {
  llvm::LLVMContext& context = current_->getContext();
  if (at.source_line == 0 || at.source_file == 0 || at.source_file >= ir_.source_files.size()) {
    return llvm::DILocation::get(context, at.ptx_line, 0, current_);
  }
  llvm::DILocation*& ptx_line = ptx_lines_[{current_, at.ptx_line}];
  if (ptx_line == nullptr) ptx_line = llvm::DILocation::getDistinct(context, at.ptx_line, 0, current_);
  llvm::DISubprogram*& source = sources_[at.source_file];
  if (source == nullptr) {
    llvm::DIFile* file = FileOf(ir_.source_files[at.source_file]);
    auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
    source =
        builder_.createFunction(file, file->getFilename(), "", file, 0, type, 0, llvm::DINode::FlagZero,
                                llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  }
  return llvm::DILocation::get(context, at.source_line, 0, source, ptx_line);
}

}  // namespace ptx2cpu::lowering
