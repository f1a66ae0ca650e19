#include "lowering/llvm/emit/function_emitter.h"

#include "analysis/lanes/exponents.h"
#include "analysis/lanes/lane_region.h"
#include "analysis/lanes/numbers.h"
#include "analysis/lanes/varying_above_lanes.h"

namespace ptx2cpu::lowering {

namespace {
constexpr EmitFunction kFunctions[] = {
#define OP(name, ...) Emit##name,
#include "ir/opcodes.def"
#undef OP
};
}  // namespace

// -- sites --

llvm::Value* Site::Raw(size_t number) const { return e.values.Get(inst.operands[number]); }

bool Site::IsVector() const {
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    if (Raw(i)->getType()->isVectorTy()) return true;
  }
  return false;
}

llvm::Value* Site::Operand(size_t number) const {
  return IsVector() ? Broadcast(b, Raw(number), e.step->width) : Raw(number);
}

void Site::Return(llvm::Value* value, size_t number) const { e.values.Set(inst.results[number], value); }

std::unexpected<Error> Site::Unsupported(std::string message) const {
  return Refuse(e.m.ir, ErrorCode::kUnsupported, inst.at,
                std::string(PtxName(inst.op, inst.attrs.flags)) + ": " + message);
}

std::unexpected<Error> Site::Broken(std::string message) const {
  return Refuse(e.m.ir, ErrorCode::kInternal, inst.at,
                "function " + e.f.name + ", " + std::string(Info(inst.op).mnemonic) + ": " + message);
}

// -- functions --

FunctionEmitter::FunctionEmitter(ModuleEmitter& m, const ir::Function& f, llvm::Function* function,
                                 bool one_dimensional)
    : m(m),
      f(f),
      private_shared(analysis::HasPrivateShared(f)),
      one_dimensional(one_dimensional),
      exits(analysis::FindEarlyExits(f)),
      slots_of_turn(f.is_kernel ? analysis::FindSlotsOfTurn(f) : analysis::SlotsOfTurn()),
      streaming_stores(analysis::FindStreamingStores(f)),
      numbers(analysis::FindNumbers(f)),
      only_compared(analysis::FindOnlyCompared(f)),
      exponents(analysis::FindLeastExponents(f)),
      units(analysis::FindUnits(f)),
      lane_words(f),
      lanes_missing(f.has_early_exit),
      body(m, function),
      b(body.b),
      values(*this, f.is_kernel ? analysis::FindVaryingAboveLanes(f) : std::vector<bool>()),
      blocks(*this),
      memory(*this),
      matrices(*this),
      matrix_slots(*this),
      matrix_tiles(*this),
      alignment(*this),
      deferred(*this, f),
      lone(*this, f) {
  body.Begin(f);
}

Status FunctionEmitter::EmitInst(const ir::Inst& inst) {
  if (m.debug) b.SetCurrentDebugLocation(m.debug->Locate(inst.at));
  Site site{*this, b, inst};
  return kFunctions[static_cast<size_t>(inst.op)](site);
}

}  // namespace ptx2cpu::lowering
