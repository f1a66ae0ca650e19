#include "lowering/llvm/output/object.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>

#include "lowering/forms.h"
#include "lowering/llvm/kernel/emit.h"
#include "lowering/llvm/module/services.h"
#include "lowering/llvm/module/target_machine.h"
#include "lowering/llvm/optimize/optimize.h"
#include "lowering/llvm/output/link_shared.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

namespace {

// The descriptor as LLVM's struct; its layout is C's because every field has its natural alignment.
class DescriptorWriter {
 public:
  DescriptorWriter(llvm::Module& module, const KernelDescription& kernel, llvm::Function* entry)
      : module_(module), context_(module.getContext()), kernel_(kernel), entry_(entry) {}

  void Write() {
    llvm::Constant* descriptor = Row(kernel_);
    CHECK(module_.getDataLayout().getTypeAllocSize(descriptor->getType()) == sizeof(ptx2cpu_kernel),
          "the descriptor's layout differs from abi.h");
    new llvm::GlobalVariable(module_, descriptor->getType(), true, llvm::GlobalValue::ExternalLinkage,
                             descriptor, "ptx2cpu_kernel_" + CName(kernel_.name));
  }

 private:
  using Constants = std::vector<llvm::Constant*>;
  void Fields(Constants& to, const KernelDescription& from) {
#define KERNEL_FIELD(kind, name, meaning) to.push_back(Field(from.name));
#include "runtime/abi/kernel_fields.def"
  }
  void Fields(Constants& to, const ParameterRow& from) {
#define PARAMETER_FIELD(kind, name, meaning) to.push_back(Field(from.name));
#include "runtime/abi/kernel_fields.def"
  }
  void Fields(Constants& to, const PointRow& from) {
#define POINT_FIELD(kind, name, meaning) to.push_back(Field(from.name));
#include "runtime/abi/kernel_fields.def"
  }
  void Fields(Constants& to, const ParameterAlignment& from) {
#define ALIGNMENT_FIELD(kind, name, meaning) to.push_back(Field(from.name));
#include "runtime/abi/kernel_fields.def"
  }

  llvm::Constant* Field(field::Version) { return Field(PTX2CPU_ABI_VERSION); }
  llvm::Constant* Field(field::Word value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), value);
  }
  llvm::Constant* Field(field::Byte value) {
    return llvm::ConstantInt::get(llvm::Type::getInt8Ty(context_), value);
  }
  llvm::Constant* Field(const field::Three& values) {
    return llvm::ConstantDataArray::get(context_, llvm::ArrayRef(values));
  }
  llvm::Constant* Field(const field::Name& text) {
    return Private(llvm::ConstantDataArray::getString(context_, text));
  }
  llvm::Constant* Field(field::Unused) {
    return llvm::ConstantDataArray::get(context_, llvm::ArrayRef<uint8_t>({0, 0}));
  }
  llvm::Constant* Field(field::Block) { return kernel_.resumes ? Null() : entry_; }
  llvm::Constant* Field(field::Step) { return kernel_.resumes ? entry_ : Null(); }
  llvm::Constant* Field(field::ParameterCount) { return Count(kernel_.parameters); }
  llvm::Constant* Field(field::PointCount) { return Count(kernel_.points); }
  llvm::Constant* Field(field::AlignmentCount) { return Count(kernel_.alignments); }
  template <typename T>
  llvm::Constant* Field(const std::vector<T>& table) {
    if (table.empty()) return Null();
    Constants rows;
    for (const T& row : table) rows.push_back(Row(row));
    return Private(llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows));
  }

  template <typename T>
  llvm::Constant* Count(const std::vector<T>& table) {
    return Field(static_cast<field::Word>(table.size()));
  }
  template <typename T>
  llvm::Constant* Row(const T& fields) {
    Constants constants;
    Fields(constants, fields);
    return llvm::ConstantStruct::getAnon(context_, constants);
  }
  llvm::Constant* Null() { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)); }
  llvm::Constant* Private(llvm::Constant* data) {
    return new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data);
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const KernelDescription& kernel_;
  llvm::Function* entry_;
};

bool IsHidden(const ir::Variable& variable) { return variable.linkage == ir::Variable::Linkage::kInternal; }

class ObjectBuilder {
 public:
  ObjectBuilder(llvm::LLVMContext& context, const ObjectOptions& options)
      : context_(context), options_(options) {}

  Status Add(const ir::Module& ir) {
    EmitOptions emit;
    emit.target = options_.target;
    emit.thread_ids = options_.thread_ids;
    emit.lane_width = options_.lane_width;
    CHECK(options_.alignment != AlignmentChecks::kAssumed, "an object has one version of a kernel");
    emit.alignment = options_.alignment;
    emit.debug_info = options_.debug_info;
    emit.omit = PassesToOmit();
    EmittedKernel emitted = TRY(Emit(context_, ir, emit));
    const ir::Function& kernel = *TRY(FindKernel(ir, ""));
    uint32_t unit = units_.emplace(ir.name, static_cast<uint32_t>(units_.size())).first->second;
    for (const ir::Variable& variable : ir.variables) {
      llvm::GlobalVariable* global = emitted.module->getGlobalVariable(variable.name, true);
      if (global == nullptr) continue;
      // Names that are local to a PTX text must not collide with those of another one.
      if (IsHidden(variable)) {
        global->setName(variable.name + "." + std::to_string(unit));
        hidden_.emplace(global->getName().str(), variable.name);
      }
      if (variable.linkage == ir::Variable::Linkage::kExtern) externs_.push_back(variable.name);
    }
    llvm::Function* entry = emitted.module->getFunction(EntryName(kernel));
    DescriptorWriter(*emitted.module, emitted.layout, entry).Write();
    parts_.push_back({std::move(emitted.module), 1});
    while (parts_.size() > 1 && parts_[parts_.size() - 2].kernels == parts_.back().kernels)
      TRY_STATUS(JoinLast());
    return {};
  }

  Result<llvm::Module*> Finish() {
    while (parts_.size() > 1) TRY_STATUS(JoinLast());
    module_ = std::move(parts_[0].module);
    // Hidden by linkage, but a host may want to set a __constant__ table: an alias of another name shows
    // where it is.
    for (const auto& [symbol, name] : hidden_) {
      llvm::GlobalVariable* global = module_->getGlobalVariable(symbol, true);
      global->setLinkage(llvm::GlobalValue::InternalLinkage);
      const std::string alias = "ptx2cpu_variable_" + CName(name);
      if (module_->getNamedAlias(alias) == nullptr)
        llvm::GlobalAlias::create(llvm::GlobalValue::ExternalLinkage, alias, global);
    }
    return module_.get();
  }
  const std::vector<std::string>& externs() const { return externs_; }

 private:
  // Linking walks all of the module that it adds to, so modules of similar size are joined.
  struct Part {
    std::unique_ptr<llvm::Module> module;
    size_t kernels;
  };
  Status JoinLast() {
    Part last = std::move(parts_.back());
    parts_.pop_back();
    if (llvm::Linker::linkModules(*parts_.back().module, std::move(last.module)))
      return Fail(ErrorCode::kInternal, "the kernels of the file do not link with each other");
    parts_.back().kernels += last.kernels;
    return {};
  }

  llvm::LLVMContext& context_;
  const ObjectOptions& options_;
  std::vector<Part> parts_;
  std::unique_ptr<llvm::Module> module_;
  std::map<std::string, uint32_t> units_;
  std::map<std::string, std::string> hidden_;  // symbol -> PTX name
  std::vector<std::string> externs_;
};

// Nothing may be left that the runtime and C's string functions do not define: a hidden library call is our
// bug.
Status CheckUndefined(std::string_view object, const std::vector<std::string>& externs) {
  constexpr std::string_view kAllowed[] = {"",       "memcpy", "memset", "memmove",
                                           "memcmp", "fma",    "fmaf",   "_GLOBAL_OFFSET_TABLE_"};
  llvm::MemoryBufferRef buffer(llvm::StringRef(object.data(), object.size()), "object");
  auto file = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!file)
    return Fail(ErrorCode::kInternal, "the object file cannot be read: " + llvm::toString(file.takeError()));
  for (const llvm::object::SymbolRef& symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!flags || !name) {
      if (!flags) llvm::consumeError(flags.takeError());
      if (!name) llvm::consumeError(name.takeError());
      continue;
    }
    std::string_view text(name->data(), name->size());
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) == 0 ||
        std::ranges::find(kAllowed, text) != std::end(kAllowed))
      continue;
    if (FindService(text) != nullptr || std::ranges::find(externs, text) != externs.end()) continue;
    return Fail(ErrorCode::kInternal,
                "the object calls " + std::string(text) + ", which the run-time library does not have");
  }
  return {};
}

}  // namespace

Result<FileKind> FileKindOf(std::string_view path) {
  if (path.ends_with(".o")) return FileKind::kObject;
  if (path.ends_with(".so")) return FileKind::kSharedObject;
  if (path.ends_with(".s")) return FileKind::kAssembly;
  if (path.ends_with(".ll")) return FileKind::kLlvm;
  return Fail({.code = ErrorCode::kUsage,
               .message = "the file type of '" + std::string(path) + "' is unknown",
               .hint = "names end in .o, .so, .s or .ll"});
}

Result<std::string> CompileFile(std::span<const ir::Module* const> kernels, FileKind kind,
                                const ObjectOptions& asked) {
  if (kernels.empty()) return Fail(ErrorCode::kUsage, "no kernel to compile");
  ObjectOptions options = asked;
  if (options.target.triple.empty()) options.target = TRY(ResolveTarget("native"));
  llvm::LLVMContext context;
  ObjectBuilder builder(context, options);
  for (const ir::Module* kernel : kernels) TRY_STATUS(builder.Add(*kernel));
  llvm::Module& module = *TRY(builder.Finish());
  const int generation = GenerationLevel(options.optimisation, module);
  auto machine = TRY(CreateTargetMachine(options.target, generation, false));
  const std::string omit = PassesToOmit();
  Optimize(module, *machine, {.level = options.optimisation, .omit = omit});
  if (kind == FileKind::kLlvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream, nullptr);
    return text;
  }
  if (kind == FileKind::kAssembly) return GenerateCode(module, *machine, llvm::CodeGenFileType::AssemblyFile);
  std::string object = TRY(GenerateCode(module, *machine, llvm::CodeGenFileType::ObjectFile));
  TRY_STATUS(CheckUndefined(object, builder.externs()));
  if (kind == FileKind::kObject) return object;
  return LinkShared(object, options.target);
}

}  // namespace ptx2cpu::lowering
