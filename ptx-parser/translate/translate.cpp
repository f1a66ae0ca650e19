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

Status LayOutShared(ir::Module& module, const std::vector<bool>& used, const ast::Module& ast) {
  uint64_t offset = 0;
  uint32_t dynamic_alignment = kDynamicSharedAlignment;
  for (size_t i = 0; i < module.variables.size(); ++i) {
    ir::Variable& variable = module.variables[i];
    if (variable.space != ir::Space::kShared || !used[i]) continue;
    if (variable.size == 0) {
      dynamic_alignment = std::max(dynamic_alignment, variable.align);
      continue;
    }
    offset = (offset + variable.align - 1) / variable.align * variable.align;
    variable.shared_offset = static_cast<uint32_t>(offset);
    offset += variable.size;
    if (offset > std::numeric_limits<int32_t>::max()) {
      return Fail(ErrorCode::kUnsupported, "more shared memory than a block can address in " + ast.file_name);
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

void FillModuleHeader(const ast::Module& ast, ir::Module& module) {
  module.name = ast.file_name;
  module.ptx_major = ast.version_major;
  module.ptx_minor = ast.version_minor;
  module.sm = ast.target.sm;
  for (const ast::File& file : ast.files) {
    if (file.index >= ast.files.size() + 4096) continue;  // an absurd number is no index
    if (module.source_files.size() <= file.index) module.source_files.resize(file.index + 1);
    module.source_files[file.index] = std::string(file.name);
  }
}

// The text for messages: only the lines of the functions translated, the others empty, since a module of
// forty megabytes may have a thousand kernels.
std::string TextOf(const ast::Module& ast, std::vector<uint32_t> functions) {
  const std::string& text = *ast.text;
  std::sort(functions.begin(), functions.end(), [&](uint32_t a, uint32_t b) {
    return ast.functions[a].position.line < ast.functions[b].position.line;
  });
  std::string result;
  uint32_t line = 1;  // the next one to append
  for (uint32_t number : functions) {
    const ast::Function& function = ast.functions[number];
    std::span<const ast::Instruction> instructions = ast.Instructions(function);
    const char* name = function.name.data();
    std::less<const char*> before;
    if (instructions.empty() || before(name, text.data()) || !before(name, text.data() + text.size()))
      continue;
    if (function.position.line < line) continue;  // on a line with another one
    result.append(function.position.line - line, '\n');
    line = function.position.line;
    size_t at = text.rfind('\n', static_cast<size_t>(name - text.data()));
    at = at == std::string::npos ? 0 : at + 1;
    for (uint32_t last = instructions.back().position.line; line <= last && at < text.size(); ++line) {
      size_t end = std::min(text.find('\n', at), text.size());
      result.append(text, at, end - at).push_back('\n');
      at = end + 1;
    }
  }
  return result;
}

Result<uint32_t> FindKernel(const ast::Module& module, std::string_view name) {
  for (uint32_t i = 0; i < module.functions.size(); ++i) {
    const ast::Function& function = module.functions[i];
    if (function.name == name && function.is_entry && function.has_body) return i;
  }
  std::string hint = "its kernels are:";
  std::vector<std::string> kernels = ListKernels(module);
  for (size_t i = 0; i < kernels.size() && i < 10; ++i) hint += " " + kernels[i];
  if (kernels.size() > 10) hint += " ...";
  if (kernels.empty()) hint = "it has no kernel";
  return Fail(Error{.code = ErrorCode::kNotFound,
                    .message = module.file_name + " has no kernel named `" + std::string(name) + "`",
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

Result<ir::Module> Translate(const ast::Module& module, std::string_view kernel, const TranslateOptions&) {
  uint32_t number = TRY(FindKernel(module, kernel));
  if (module.address_size != 64) {
    return Fail(ErrorCode::kUnsupported, module.file_name + " has 32-bit addresses (.address_size " +
                                             std::to_string(module.address_size) +
                                             "); only 64-bit modules are translated");
  }
  ir::Module out;
  FillModuleHeader(module, out);
  ModuleContext context(module, out);
  context.RequireFunction(number);
  // Functions and variables ask for each other until nothing new comes.
  size_t functions_done = 0, variables_done = 0;
  while (functions_done < context.functions().size() || variables_done < context.used_variables().size()) {
    while (functions_done < context.functions().size()) {
      out.functions.push_back(TRY(TranslateFunction(context, context.functions()[functions_done])));
      ++functions_done;
    }
    while (variables_done < context.used_variables().size()) {
      TRY_STATUS(FillInitializer(context, context.used_variables()[variables_done], true));
      ++variables_done;
    }
  }
  std::vector<bool> used(out.variables.size());
  for (uint32_t v = 0; v < module.variables.size(); ++v) {
    if (context.VariableIndex(v) == ast::kNone) continue;
    used[context.VariableIndex(v)] = context.IsUsed(v);
    if (!context.IsUsed(v)) TRY_STATUS(FillInitializer(context, v, false));
  }
  TRY_STATUS(LayOutShared(out, used, module));
  out.text = TextOf(module, context.functions());
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
