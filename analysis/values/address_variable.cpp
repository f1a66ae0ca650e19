#include "analysis/values/address_variable.h"

#include <algorithm>

#include "ir/opcode.h"
#include "ir/parameters.h"

namespace ptx2cpu::analysis {
namespace {

using ir::Opcode;
using ir::ValueId;

// In ascending order: not visited; computed from no address of a variable; from one; from anything.
struct Origin {
  enum class Kind : uint8_t { kUnvisited, kNone, kOne, kAny } kind = Kind::kUnvisited;
  VariableRef variable = {};

  bool operator==(const Origin&) const = default;
};
using Kind = Origin::Kind;

Origin Join(const Origin& a, const Origin& b) {
  if (a.kind == Kind::kUnvisited) return b;
  if (b.kind == Kind::kUnvisited || a == b) return a;
  return {Kind::kAny};
}

class AddressVariableSolver {
 public:
  explicit AddressVariableSolver(const ir::Function& f) : f_(f), found_(f.values.size()) {
    if (f.blocks.empty()) return;
    for (const ir::ValueId argument : f.blocks[0].params) found_[argument.index] = {Kind::kNone};
  }

  std::vector<std::optional<VariableRef>> Solve() {
    const auto order = ir::ReversePostOrder(f_);
    for (bool changed = true; changed;) {
      changed = false;
      for (const ir::BlockId block : order) {
        for (const ir::InstId id : f_.at_block(block).insts) changed |= Visit(f_.at_inst(id));
        for (const ir::Edge& edge : f_.successors(block)) {
          for (size_t n = 0; n < edge.args.size(); ++n)
            changed |= Raise(f_.at_block(edge.to).params[n], Of(edge.args[n]));
        }
      }
    }
    std::vector<std::optional<VariableRef>> result(found_.size());
    for (size_t n = 0; n < found_.size(); ++n) {
      if (found_[n].kind == Kind::kOne) result[n] = found_[n].variable;
    }
    return result;
  }

 private:
  const Origin& Of(ValueId value) const { return found_[value.index]; }

  bool Raise(ValueId value, const Origin& origin) {
    Origin& old = found_[value.index];
    const Origin joined = Join(old, origin);
    const bool changed = old != joined;
    old = joined;
    return changed;
  }

  bool Visit(const ir::Inst& inst) {
    const Origin origin = OriginOf(inst);
    bool changed = false;
    for (const ValueId result : inst.results) changed |= Raise(result, origin);
    return changed;
  }

  Origin OriginOf(const ir::Inst& inst) const {
    const auto of = [&](size_t n) { return Of(inst.operands[n]); };
    if (inst.op == Opcode::kSymbol) return {Kind::kOne, {inst.attrs.space, inst.attrs.index}};
    if (const auto parameter = BeginOfParameter(inst)) return ParameterAt(*parameter);
    if (inst.op == Opcode::kAdd) return Sum(of(0), of(1));
    if (inst.op == Opcode::kSub) return Difference(of(0), of(1));
    if (inst.op == Opcode::kSelect) return Join(of(1), of(2));
    const bool same = inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric ||
                      inst.op == Opcode::kZext || inst.op == Opcode::kSext || inst.op == Opcode::kTrunc ||
                      inst.op == Opcode::kBitcast;
    if (same) return of(0);
    // What is loaded is a value of its own; what is computed from an address in another way is not followed.
    if (ir::Info(inst.op).effect != ir::Effect::kPure) return {Kind::kNone};
    const auto is_plain = [&](ValueId value) { return Of(value).kind <= Kind::kNone; };
    return std::ranges::all_of(inst.operands, is_plain) ? Origin{Kind::kNone} : Origin{Kind::kAny};
  }

  // Where the address of a parameter is made: the begin of all of them, or that plus a number.
  std::optional<uint64_t> BeginOfParameter(const ir::Inst& inst) const {
    if (inst.op == Opcode::kParamBase) return 0;
    if (inst.op != Opcode::kAdd) return std::nullopt;
    const ir::InstId base = f_.at_value(inst.operands[0]).def;
    if (!base.valid() || f_.at_inst(base).op != Opcode::kParamBase) return std::nullopt;
    return ir::DistanceInParameters(f_, inst.results[0]);
  }
  Origin ParameterAt(uint64_t distance) const {
    for (uint32_t n = 0; n < f_.params.size(); ++n) {
      const ir::Param& param = f_.params[n];
      if (distance >= param.offset && distance - param.offset < param.size)
        return {Kind::kOne, {ir::Space::kParam, n}};
    }
    return {Kind::kAny};
  }

  static Origin Sum(const Origin& a, const Origin& b) {
    if (a.kind == Kind::kUnvisited || b.kind == Kind::kUnvisited) return {};
    if (a.kind == Kind::kNone) return b;
    return b.kind == Kind::kNone ? a : Origin{Kind::kAny};
  }
  static Origin Difference(const Origin& a, const Origin& b) {
    if (a.kind == Kind::kUnvisited || b.kind == Kind::kUnvisited) return {};
    return b.kind == Kind::kNone ? a : Origin{Kind::kAny};
  }

  const ir::Function& f_;
  std::vector<Origin> found_;
};

}  // namespace

std::vector<std::optional<VariableRef>> AnalyzeAddressVariables(const ir::Function& f) {
  return AddressVariableSolver(f).Solve();
}

}  // namespace ptx2cpu::analysis
