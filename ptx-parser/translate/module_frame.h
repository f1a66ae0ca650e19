// Registers and .local variables of the module that functions share with the kernels that call them (PTX
// before 3.0). Each thread has one of each: they are the first local variable of the kernel, so that their
// addresses in the thread's window are the same in all functions.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/function.h"
#include "ptx-parser/parse/ast.h"

namespace ptx2cpu::ptx {

class Emitter;
class ModuleContext;

// Whether a function that is no kernel uses one of them; only then they are in memory.
bool SharesPrivate(const ast::Module& module);
// An error where the frames of several modules would be at the same addresses.
Status CheckModuleFrame(const ModuleContext& context, const ast::Function& function);
// Makes the kernel's first local variable, if functions share it.
void ReserveModuleFrame(const ast::Module& module, ir::Function& kernel);
// Where a variable is; a register has 16 bytes. Nothing for a variable that is not shared.
std::optional<uint32_t> OffsetInModuleFrame(const ast::Module& module, uint32_t variable);

// The registers are in memory while another function runs. Nothing where no function shares them.
void LoadModuleRegisters(Emitter& e);
void StoreModuleRegisters(Emitter& e);

}  // namespace ptx2cpu::ptx
