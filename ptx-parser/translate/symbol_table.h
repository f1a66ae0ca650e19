// The symbols of a program's modules: resolved once, read by the translation of each kernel.
//
// Relocatable modules (nvcc -rdc) share the names that have a linkage. The rules are those of a device
// linker:
// clang-format off
//   .visible   one definition in all modules
//   .weak      the first definition; a .visible one takes precedence
//   .common    one variable for all of that name, as large as the largest; a definition with .visible or .weak holds it
//   .extern    declared here, defined elsewhere; size, space and prototype must agree
//   none       the module's own, though another module may use the name too
// clang-format on
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/result.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

class SymbolTable {
 public:
  struct Module {
    const ast::Module* ast = nullptr;
    uint32_t line_base = 0;                 // added to line numbers: the lines of the modules before it
    uint32_t file_base = 0;                 // added to .file numbers
    std::vector<uint32_t> variable_number;  // by AST variable: number below; kNone: no static storage
  };
  // A function or variable of one of the modules.
  struct Place {
    uint32_t module = ast::kNone;
    uint32_t index = ast::kNone;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Variable {
    std::string name;  // unique in the program
    Place place;       // the definition, else the first declaration
    uint64_t size = 0;
    uint32_t align = 1;
    bool is_defined = false;
  };

  // One module on its own: what it only declares may be provided by the code that runs it. The trees must
  // outlive the table.
  static SymbolTable OfOne(const ast::Module& module);
  // A complete program. Errors, kLink: definitions that contradict each other, all of them in `more`.
  static Result<SymbolTable> Link(std::vector<const ast::Module*> modules);

  std::span<const Module> modules() const { return modules_; }
  const ast::Module& Ast(Place place) const { return *modules_[place.module].ast; }
  const ast::Function& Function(Place place) const { return Ast(place).functions[place.index]; }
  const std::vector<Variable>& variables() const { return variables_; }
  // Whether all modules are present, so that a declaration without definition is an error once a kernel
  // reaches it.
  bool is_program() const { return is_program_; }

  // Where a function is defined; the declaration itself if no module defines it.
  Place Definition(Place function) const;
  // Its name, unique in the program among those with a body.
  std::string_view Name(Place function) const;
  // Functions that an indirect call may reach: an instruction or an initialiser of some module holds their
  // address.
  const std::vector<Place>& indirect_targets() const { return indirect_targets_; }
  // Kernels that have a body, once each, in source order.
  std::vector<Place> Kernels() const;
  // Both are kNone where there is no kernel of that name.
  Place FindKernel(std::string_view name) const;

 private:
  friend class SymbolResolver;
  SymbolTable() = default;
  static uint64_t Key(Place place) { return uint64_t{place.module} << 32 | place.index; }

  std::vector<Module> modules_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string_view, Place> exported_functions_;
  std::unordered_map<uint64_t, std::string> renamed_;  // internal functions whose name another one has
  std::vector<Place> indirect_targets_;
  bool is_program_ = false;
};

}  // namespace ptx2cpu::ptx
