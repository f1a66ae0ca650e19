#include "ptx-parser/translate/translate.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "ptx-parser/translate/function_translator.h"
#include "ptx-parser/translate/initializers.h"

namespace ptx2cpu::ptx {

namespace {

constexpr size_t kMostErrors = 20;  // reported in one run
constexpr uint32_t kDynamicSharedAlignment = 16;

uint32_t RoundUp(uint32_t value, uint32_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Status LayOutShared(ir::Module& module, const LinkedModules& linked) {
  uint64_t offset = 0;
  uint32_t dynamic_alignment = kDynamicSharedAlignment;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    ir::Variable& variable = module.variables[i];
    if (variable.space != ir::Space::kShared || !linked.IsUsed(static_cast<uint32_t>(i))) continue;
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

void FillModuleHeader(const LinkedModules& linked, const ast::Module& home, ir::Module& module) {
  module.ptx_major = home.version_major;
  module.ptx_minor = home.version_minor;
  module.sm = home.target.sm;
  for (const auto& context : linked.contexts()) {
    module.name += (module.name.empty() ? "" : "+") + context->ast.file_name;
    for (const ast::File& file : context->ast.files) {
      if (file.index >= context->ast.files.size() + 4096) continue;  // an absurd number is no index
      uint32_t index = file.index + context->file_base;
      if (module.source_files.size() <= index) module.source_files.resize(index + 1);
      module.source_files[index] = std::string(file.name);
    }
  }
}

// The text for messages: only the lines of the functions translated, the others empty, since a module of
// forty megabytes may have a thousand kernels.
std::string TextOf(const LinkedModules& linked) {
  auto line_of = [](const LinkedModules::Item& item) {
    return item.context->ast.functions[item.number].position.line + item.context->line_base;
  };
  std::vector<LinkedModules::Item> functions = linked.functions();
  std::sort(functions.begin(), functions.end(),
            [&](const auto& a, const auto& b) { return line_of(a) < line_of(b); });
  std::string result;
  uint32_t line = 1;  // the next one to append
  for (const LinkedModules::Item& item : functions) {
    const ast::Module& ast = item.context->ast;
    const std::string& text = *ast.text;
    const ast::Function& function = ast.functions[item.number];
    std::span<const ast::Instruction> instructions = ast.Instructions(function);
    const char* name = function.name.data();
    std::less<const char*> before;
    if (instructions.empty() || before(name, text.data()) || !before(name, text.data() + text.size()))
      continue;
    if (line_of(item) < line) continue;  // on a line with another one
    result.append(line_of(item) - line, '\n');
    line = line_of(item);
    size_t at = text.rfind('\n', static_cast<size_t>(name - text.data()));
    at = at == std::string::npos ? 0 : at + 1;
    uint32_t last = instructions.back().position.line + item.context->line_base;
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

struct KernelPlace {
  size_t module = 0;
  uint32_t function = 0;
};

Result<KernelPlace> FindKernel(std::span<const ast::Module* const> modules, std::string_view name) {
  std::vector<std::string> kernels;
  for (size_t m = 0; m < modules.size(); ++m) {
    for (uint32_t i = 0; i < modules[m]->functions.size(); ++i) {
      const ast::Function& function = modules[m]->functions[i];
      if (function.name == name && function.is_entry && function.has_body) return KernelPlace{m, i};
    }
    for (std::string& kernel : ListKernels(*modules[m])) kernels.push_back(std::move(kernel));
  }
  std::string hint = "its kernels are:";
  for (size_t i = 0; i < kernels.size() && i < 10; ++i) hint += " " + kernels[i];
  if (kernels.size() > 10) hint += " ...";
  if (kernels.empty()) hint = "it has no kernel";
  return Fail(Error{.code = ErrorCode::kNotFound,
                    .message = modules[0]->file_name + " has no kernel named `" + std::string(name) + "`",
                    .hint = hint});
}

}  // namespace

std::vector<std::string> ListKernels(const ast::Module& module) {
  std::vector<std::string> names;
  for (const ast::Function& function : module.functions) {
    if (function.is_entry && function.has_body) names.emplace_back(function.name);
  }
  return names;
}

Result<ir::Module> Translate(const ast::Module& module, std::string_view kernel,
                             const TranslateOptions& options) {
  const ast::Module* only = &module;
  return TranslateLinked(std::span(&only, 1), kernel, options);
}

Result<ir::Module> TranslateLinked(std::span<const ast::Module* const> modules, std::string_view kernel,
                                   const TranslateOptions&) {
  CHECK(!modules.empty(), "no module to translate");
  const KernelPlace place = TRY(FindKernel(modules, kernel));
  for (const ast::Module* module : modules) TRY_STATUS(CheckAddressSize(*module));
  ir::Module out;
  LinkedModules linked(modules, out);
  FillModuleHeader(linked, *modules[place.module], out);
  linked.contexts()[place.module]->RequireFunction(place.function);
  // Functions and variables ask for each other until nothing new comes.
  size_t functions_done = 0, variables_done = 0;
  while (functions_done < linked.functions().size() || variables_done < linked.used_variables().size()) {
    for (; functions_done < linked.functions().size(); ++functions_done) {
      const LinkedModules::Item item = linked.functions()[functions_done];
      ir::Function function = TRY(TranslateFunction(*item.context, item.number));
      const ast::Function& source = item.context->ast.functions[item.number];
      bool internal = source.has_body && source.linkage == ast::Linkage::kNone && !source.is_entry;
      function.name = linked.UniqueName(function.name, internal);
      out.functions.push_back(std::move(function));
    }
    for (; variables_done < linked.used_variables().size(); ++variables_done) {
      const LinkedModules::Item& item = linked.Definition(linked.used_variables()[variables_done]);
      TRY_STATUS(FillInitializer(*item.context, item.number, true));
    }
  }
  for (uint32_t v = 0; v < out.variables.size(); ++v) {
    const LinkedModules::Item& item = linked.Definition(v);
    if (!linked.IsUsed(v)) TRY_STATUS(FillInitializer(*item.context, item.number, false));
  }
  TRY_STATUS(LayOutShared(out, linked));
  out.text = TextOf(linked);
  return out;
}

Result<ir::Module> TranslateVariables(std::span<const ast::Module* const> modules) {
  CHECK(!modules.empty(), "no module to translate");
  for (const ast::Module* module : modules) TRY_STATUS(CheckAddressSize(*module));
  ir::Module out;
  LinkedModules linked(modules, out);
  FillModuleHeader(linked, *modules[0], out);
  for (uint32_t v = 0; v < out.variables.size(); ++v) {
    const LinkedModules::Item& item = linked.Definition(v);
    TRY_STATUS(FillInitializer(*item.context, item.number, true));
  }
  for (const LinkedModules::Item& item : linked.functions()) {
    ir::Function& declaration = out.functions.emplace_back();
    declaration.name = item.context->ast.functions[item.number].name;
    declaration.is_declaration = true;
  }
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
        if (first->more.size() + 1 == kMostErrors) return Fail(std::move(*first));
      }
    }
  }
  if (first) return Fail(std::move(*first));
  return {};
}

}  // namespace ptx2cpu::ptx
