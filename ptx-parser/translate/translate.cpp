#include "ptx-parser/translate/translate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "ir/external_functions.h"
#include "ptx-parser/translate/function_translator.h"
#include "ptx-parser/translate/initializers.h"
#include "ptx-parser/translate/matrix.h"

namespace ptx2cpu::ptx {

namespace {

constexpr size_t kMaxErrors = 20;  // reported in one run
constexpr uint32_t kDynamicSharedAlignment = 16;

uint32_t RoundUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Status LayOutShared(ir::Module& module, const Translation& work) {
  uint64_t offset = 0;
  uint32_t dynamic_alignment = kDynamicSharedAlignment;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    ir::Variable& variable = module.variables[i];
    if (variable.space != ir::Space::kShared || !work.IsUsed(static_cast<uint32_t>(i))) continue;
    if (variable.size == 0) {
      dynamic_alignment = std::max(dynamic_alignment, variable.align);
      continue;
    }
    offset = (offset + variable.align - 1) / variable.align * variable.align;
    variable.shared_offset = static_cast<uint32_t>(offset);
    offset += variable.size;
    if (offset > std::numeric_limits<int32_t>::max()) {
      return Fail(ErrorCode::kUnsupported, "more shared memory than a block can address in " + module.name);
    }
  }
  module.static_shared_bytes = static_cast<uint32_t>(offset);
  uint32_t dynamic = RoundUp(module.static_shared_bytes, dynamic_alignment);
  for (size_t i = 0; i < module.variables.size(); ++i) {
    ir::Variable& variable = module.variables[i];
    if (variable.space == ir::Space::kShared && variable.size == 0) variable.shared_offset = dynamic;
  }
  return {};
}

void FillModuleHeader(const Translation& work, const ast::Module& first, ir::Module& module) {
  module.ptx_major = first.version_major;
  module.ptx_minor = first.version_minor;
  module.sm = first.target.sm;
  const auto modules = work.symbols.modules();
  module.name = modules[0].ast->file_name;
  if (modules.size() > 1) module.name += " and " + std::to_string(modules.size() - 1) + " more";
  for (const SymbolTable::Module& part : modules) {
    if (modules.size() > 1) module.parts.push_back({part.ast->file_name, part.line_base});
    for (const ast::File& file : part.ast->files) {
      if (file.index > UINT16_MAX) continue;  // an absurd number is not an index
      uint32_t index = file.index + part.file_base;
      if (module.source_files.size() <= index) module.source_files.resize(index + 1);
      module.source_files[index] = std::string(file.name);
    }
  }
}

// The text for messages: only the lines of the functions translated, the others empty, since a module of
// forty megabytes may have a thousand kernels.
std::string TextOf(const Translation& work) {
  struct Part {
    const ast::Module* ast;
    const ast::Function* function;
    uint32_t line_base;
    uint32_t first() const { return function->position.line + line_base; }
  };
  std::vector<Part> parts;
  for (const Translation::Item& item : work.functions()) {
    const SymbolTable::Module& module = work.symbols.modules()[item.place.module];
    parts.push_back({module.ast, &work.symbols.Function(item.place), module.line_base});
  }
  std::ranges::sort(parts, {}, &Part::first);
  std::string result;
  uint32_t line = 1;  // the next one to append
  for (const Part& part : parts) {
    const std::string& text = *part.ast->text;
    std::span<const ast::Instruction> instructions = part.ast->Instructions(*part.function);
    const char* name = part.function->name.data();
    std::less<const char*> before;
    if (instructions.empty() || before(name, text.data()) || !before(name, text.data() + text.size()))
      continue;
    if (part.first() < line) continue;  // on a line with another one
    result.append(part.first() - line, '\n');
    line = part.first();
    size_t at = text.rfind('\n', static_cast<size_t>(name - text.data()));
    at = at == std::string::npos ? 0 : at + 1;
    uint32_t last = instructions.back().position.line + part.line_base;
    for (; line <= last && at < text.size(); ++line) {
      size_t end = std::min(text.find('\n', at), text.size());
      result.append(text, at, end - at).push_back('\n');
      at = end + 1;
    }
  }
  return result;
}

Status CheckAddressSize(const ast::Module& module) {
  if (module.address_size == 64) return {};
  return Fail(ErrorCode::kUnsupported, module.file_name + " has 32-bit addresses (.address_size " +
                                           std::to_string(module.address_size) +
                                           "); only 64-bit modules are translated");
}

Result<SymbolTable::Place> FindKernel(const SymbolTable& symbols, std::string_view name) {
  SymbolTable::Place kernel = symbols.FindKernel(name);
  if (kernel.index != ast::kNone) return kernel;
  std::string hint = "its kernels are:";
  std::vector<std::string> kernels = ListKernels(symbols);
  for (size_t i = 0; i < kernels.size() && i < 10; ++i) hint += " " + kernels[i];
  if (kernels.size() > 10) hint += " ...";
  if (kernels.empty()) hint = "it has no kernel";
  const size_t others = symbols.modules().size() - 1;
  std::string where = symbols.modules()[0].ast->file_name;
  if (others != 0) where += " with " + std::to_string(others) + " more";
  return Fail(Error{.code = ErrorCode::kNotFound,
                    .message = where + " has no kernel named `" + std::string(name) + "`",
                    .hint = hint});
}

// What the kernel reaches and no module defines. Complete programs only: a module alone may get it from its
// loader.
class UnresolvedSymbols {
 public:
  explicit UnresolvedSymbols(const Translation& work) : work_(work) {}

  Status Check() {
    for (const Translation::Item& item : work_.functions()) {
      const ast::Function& function = work_.symbols.Function(item.place);
      if (!function.has_body && !ir::IsExternalFunction(function.name))
        Report("function", function.name, item);
    }
    for (const Translation::Item& item : work_.used_variables()) {
      const SymbolTable::Variable& variable = work_.symbols.variables()[item.place.index];
      bool is_dynamic =
          work_.out.variables[item.place.index].space == ir::Space::kShared && variable.size == 0;
      if (!variable.is_defined && !is_dynamic) Report("variable", variable.name, item);
    }
    if (error_) return Fail(std::move(*error_));
    return {};
  }

 private:
  void Report(std::string_view what, std::string_view name, const Translation::Item& item) {
    const ast::Module& user = work_.symbols.Ast(item.first_use);
    Error error = ast::ErrorAt(
        user, {item.first_use.index, 0}, ErrorCode::kLink,
        std::string(what) + " `" + std::string(name) + "` is used here, but no module defines it");
    if (!error_)
      error_ = std::move(error);
    else if (error_->more.size() + 1 < kMaxErrors)
      error_->more.push_back(std::move(error));
  }

  const Translation& work_;
  std::optional<Error> error_;
};

}  // namespace

std::vector<std::string> ListKernels(const SymbolTable& symbols) {
  std::vector<std::string> names;
  for (SymbolTable::Place kernel : symbols.Kernels()) names.emplace_back(symbols.Name(kernel));
  return names;
}

std::vector<std::string> ListKernels(const ast::Module& module) {
  return ListKernels(SymbolTable::OfOne(module));
}

Result<ir::Module> Translate(const ast::Module& module, std::string_view kernel,
                             const TranslateOptions& options) {
  return Translate(SymbolTable::OfOne(module), kernel, options);
}

namespace {

void MarkIndirectTargets(const Translation& work, ir::Module& out) {
  for (size_t f = 0; f < out.functions.size(); ++f) {
    const auto& targets = work.symbols.indirect_targets();
    out.functions[f].is_indirect_target =
        std::ranges::find(targets, work.functions()[f].place) != targets.end();
  }
}

// Variables that the kernel does not use have their contents too. Functions that those name are declared
// only.
Status FillUnusedVariables(Translation& work, ir::Module& out) {
  for (uint32_t v = 0; v < out.variables.size(); ++v) {
    if (!work.IsUsed(v)) TRY_STATUS(FillInitializer(work, v));
  }
  for (size_t f = out.functions.size(); f < work.functions().size(); ++f) {
    ir::Function& declaration = out.functions.emplace_back();
    declaration.name = work.symbols.Name(work.functions()[f].place);
    declaration.is_declaration = true;
    declaration.is_kernel = work.symbols.Function(work.functions()[f].place).is_entry;
  }
  return {};
}

// Another kernel is only named, to be launched.
ir::Function KernelDeclaration() {
  ir::Function declaration;
  declaration.is_kernel = declaration.is_declaration = true;
  return declaration;
}

}  // namespace

Result<ir::Module> Translate(const SymbolTable& symbols, std::string_view name,
                             const TranslateOptions& options) {
  return Translate(symbols, std::span(&name, 1), options);
}

Result<ir::Module> Translate(const SymbolTable& symbols, std::span<const std::string_view> names,
                             const TranslateOptions& options) {
  std::vector<SymbolTable::Place> kernels;
  for (const std::string_view name : names) kernels.push_back(TRY(FindKernel(symbols, name)));
  for (const SymbolTable::Module& module : symbols.modules()) {
    TRY_STATUS(CheckAddressSize(*module.ast));
    TRY_STATUS(CheckSizes(*module.ast));
  }
  ir::Module out;
  Translation work(symbols, out);
  FillModuleHeader(work, symbols.Ast(kernels[0]), out);
  for (const SymbolTable::Place kernel : kernels) work.context(kernel).RequireFunction(kernel.index);
  // Functions and variables add what they need until nothing new is found.
  size_t functions_done = 0, variables_done = 0;
  while (functions_done < work.functions().size() || variables_done < work.used_variables().size()) {
    for (; functions_done < work.functions().size(); ++functions_done) {
      const SymbolTable::Place place = work.functions()[functions_done].place;
      const bool is_other_kernel = functions_done >= kernels.size() && symbols.Function(place).is_entry;
      ir::Function function = is_other_kernel
                                  ? KernelDeclaration()
                                  : TRY(TranslateFunction(work.context(place), place.index, options));
      function.name = std::string(symbols.Name(place));
      out.functions.push_back(std::move(function));
    }
    for (; variables_done < work.used_variables().size(); ++variables_done)
      TRY_STATUS(FillInitializer(work, work.used_variables()[variables_done].place.index));
  }
  if (symbols.is_program()) TRY_STATUS(UnresolvedSymbols(work).Check());
  MarkIndirectTargets(work, out);
  TRY_STATUS(FillUnusedVariables(work, out));
  TRY_STATUS(LayOutShared(out, work));
  if (options.chains_matrix_sums) ChainMatrixSums(out);
  // Debuggers find the names of inlined functions after the kernels.
  const bool whole = options.keeps_registers && symbols.modules().size() == 1;
  out.text = whole ? *symbols.modules()[0].ast->text : TextOf(work);
  return out;
}

Result<ir::Module> TranslateVariables(const SymbolTable& symbols) {
  for (const SymbolTable::Module& module : symbols.modules()) {
    TRY_STATUS(CheckAddressSize(*module.ast));
    TRY_STATUS(CheckSizes(*module.ast));
  }
  ir::Module out;
  Translation work(symbols, out);
  FillModuleHeader(work, *symbols.modules()[0].ast, out);
  TRY_STATUS(FillUnusedVariables(work, out));
  return out;
}

Status CheckInstructions(const ast::Module& module) {
  Matcher matcher(module);
  std::optional<Error> first;
  for (const ast::Function& function : module.functions) {
    for (const ast::Instruction& instruction : module.Instructions(function)) {
      Result<Match> match = matcher.MatchInstruction(function, instruction);
      if (match) continue;
      if (!first) {
        first = std::move(match.error());
      } else {
        first->more.push_back(std::move(match.error()));
        if (first->more.size() + 1 == kMaxErrors) return Fail(std::move(*first));
      }
    }
  }
  if (first) return Fail(std::move(*first));
  return {};
}

}  // namespace ptx2cpu::ptx
