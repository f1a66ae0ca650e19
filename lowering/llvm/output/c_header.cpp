// The C header of ahead-of-time objects: descriptors, and per kernel an inline function with typed
// parameters.
#include <algorithm>

#include "ir/parameters.h"
#include "lowering/llvm/module/kernel_layout.h"
#include "lowering/llvm/output/object.h"

namespace ptx2cpu::lowering {

namespace {

// Finds the 64-bit parameters that are addresses: values that reach the address of an access through
// additions, conversions of space, slots and block parameters. PTX itself only has .u64.
class PointerParameters {
 public:
  explicit PointerParameters(const ir::Function& f)
      : f_(f), address_(f.values.size()), slot_(f.slots.size()) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (const ir::Block& block : f.blocks) {
        if (block.removed) continue;
        for (ir::InstId id : block.insts) changed |= Visit(f.at_inst(id));
      }
    }
  }

  bool Contains(const ir::Param& param) const {
    for (const ir::Block& block : f_.blocks) {
      if (block.removed) continue;
      for (ir::InstId id : block.insts) {
        const ir::Inst& inst = f_.at_inst(id);
        if (inst.op != ir::Opcode::kLoad || inst.attrs.space != ir::Space::kParam ||
            !address_[inst.results[0].index])
          continue;
        if (ir::DistanceInParameters(f_, inst.operands[0]) == param.offset) return true;
      }
    }
    return false;
  }

 private:
  bool Mark(ir::ValueId value) {
    if (f_.type_of(value) != ir::Type::kI64 || address_[value.index]) return false;
    return address_[value.index] = true;
  }

  // From uses to definitions.
  bool Visit(const ir::Inst& inst) {
    using ir::Opcode;
    bool global = inst.attrs.space == ir::Space::kGlobal || inst.attrs.space == ir::Space::kGeneric;
    bool changed = false;
    if (inst.op == Opcode::kLoad || inst.op == Opcode::kStore || inst.op == Opcode::kAtomic ||
        inst.op == Opcode::kAtomicCas) {
      return global && Mark(inst.operands[0]);
    }
    if (inst.op == Opcode::kCopyAsync || inst.op == Opcode::kCopyMulticast) {
      return Mark(inst.operands[1]);
    }
    if (inst.op == Opcode::kCopyBulk || inst.op == Opcode::kCopyMasked || inst.op == Opcode::kReduceBulk) {
      changed = Mark(inst.operands[0]);
      return Mark(inst.operands[1]) || changed;
    }
    if (inst.op == Opcode::kAdd) {
      if (!address_[inst.results[0].index]) return false;
      // The pointer is the operand that is not a product or extension of an index.
      for (ir::ValueId operand : inst.operands) changed |= !IsIndex(operand) && Mark(operand);
      return changed;
    }
    if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
      return global && address_[inst.results[0].index] && Mark(inst.operands[0]);
    }
    if (inst.op == Opcode::kSelect) {
      for (size_t i = 1; i <= 2 && address_[inst.results[0].index]; ++i) changed |= Mark(inst.operands[i]);
      return changed;
    }
    if (inst.op == Opcode::kSlotLoad) {
      changed = address_[inst.results[0].index] && !slot_[inst.attrs.index];
      if (changed) slot_[inst.attrs.index] = true;
      return changed;
    }
    if (inst.op == Opcode::kSlotStore) {
      return slot_[inst.attrs.index] && Mark(inst.operands[0]);
    }
    for (const ir::Edge& edge : inst.edges) {
      const std::vector<ir::ValueId>& params = f_.at_block(edge.to).params;
      for (size_t i = 0; i < edge.args.size(); ++i)
        changed |= address_[params[i].index] && Mark(edge.args[i]);
    }
    return changed;
  }

  bool IsIndex(ir::ValueId value) const {
    const ir::Value& v = f_.at_value(value);
    if (!v.def.valid()) return false;
    if (f_.at_inst(v.def).op == ir::Opcode::kConst || f_.at_inst(v.def).op == ir::Opcode::kMul ||
        f_.at_inst(v.def).op == ir::Opcode::kShl || f_.at_inst(v.def).op == ir::Opcode::kSext ||
        f_.at_inst(v.def).op == ir::Opcode::kZext) {
      return true;
    }
    return false;
  }

  const ir::Function& f_;
  std::vector<bool> address_, slot_;
};

std::string CType(const ir::Param& param, bool pointer) {
  if (pointer) return "void*";
  switch (param.type) {
    case ir::Type::kF32:
      return "float";
    case ir::Type::kF64:
      return "double";
    case ir::Type::kVoid:
      return "const void*";  // a struct by value: its address
    case ir::Type::kI1:
    case ir::Type::kI8:
      return "uint8_t";
    case ir::Type::kI16:
    case ir::Type::kF16:
    case ir::Type::kBF16:
      return "uint16_t";
    case ir::Type::kI32:
      return "uint32_t";
    case ir::Type::kI64:
      return "uint64_t";
    case ir::Type::kI128:
      break;
  }
  return "const void*";
}

std::string Kernel(const ir::Function& kernel) {
  const std::string name = CName(kernel.name);
  PointerParameters pointers(kernel);
  std::string declaration, copies;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const ir::Param& param = kernel.params[i];
    std::string type = CType(param, param.type == ir::Type::kI64 && pointers.Contains(param)),
                argument = "arg" + std::to_string(i);
    bool by_address = type == "const void*";
    declaration += ", " + type + " " + argument;
    copies += "  memcpy(params + " + std::to_string(param.offset) + ", " + (by_address ? "" : "&") +
              argument + ", " + std::to_string(param.size) + ");" +
              (by_address ? "  /* a struct of that size */" : "") + "\n";
  }
  std::string bytes = std::to_string(std::max(kernel.param_bytes, 1u));
  return "/* PTX entry " + kernel.name + " */\n" + "extern const struct ptx2cpu_kernel ptx2cpu_kernel_" +
         name + ";\n" + "static inline int " + name +
         "_launch(const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_shared_bytes" +
         declaration + ") {\n  uint8_t params[" + bytes + "] __attribute__((aligned(16))) = {0};\n" + copies +
         "  return ptx2cpu_launch(&ptx2cpu_kernel_" + name +
         ", grid, block, dynamic_shared_bytes, params);\n}\n";
}

}  // namespace

Result<std::string> WriteHeader(std::span<const ir::Module* const> kernels, std::string_view guard_name) {
  std::string guard = "PTX2CPU_KERNELS_" + CName(guard_name) + "_H";
  std::string text =
      "/* Kernels translated by ptx2cpu. Link the object file with libptx2cpu_rt.a, -lpthread, -lstdc++ and "
      "-lm.\n"
      " * A launch returns 0, or an error code that ptx2cpu_message() explains. */\n";
  text += "#ifndef " + guard + "\n#define " + guard +
          "\n\n#include <stdint.h>\n#include <string.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n" +
          "struct ptx2cpu_kernel;\n" +
          "int ptx2cpu_launch(const struct ptx2cpu_kernel* kernel, const uint32_t grid[3], const uint32_t "
          "block[3],\n"
          "                   uint32_t dynamic_shared_bytes, const void* params);\nconst char* "
          "ptx2cpu_message(void);\n\n";
  for (const ir::Module* module : kernels) text += Kernel(*TRY(FindKernel(*module, ""))) + "\n";
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

}  // namespace ptx2cpu::lowering
