#include "analysis/values/address_form.h"

#include <algorithm>

#include "analysis/graph/loops.h"
#include "analysis/values/polynomial.h"
#include "runtime/abi/limits.h"

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Space;
using ir::ValueId;

namespace {

constexpr int64_t kSharedEnd = int64_t{1} << 24;  // beyond any shared window

bool IsWord(ir::Type type) { return type == ir::Type::kI32 || type == ir::Type::kI64; }

uint32_t ExtentOf(const LaunchShape& shape, int axis) {
  return axis == 0 ? shape.x : axis == 1 ? shape.y : shape.z;
}

// Special registers that keep their value while a thread runs. %smid, %warpid and the like may change.
bool IsSteady(ir::Special special) {
  using enum ir::Special;
  return (special >= kNtidX && special <= kNctaidZ) || special == kLaneId ||
         (special >= kLaneMaskEq && special <= kLaneMaskGt) || special == kDynamicSharedSize ||
         special == kTotalSharedSize || (special >= kClusteridX && special <= kIsExplicitCluster);
}

bool IsPureOperation(const ir::Inst& inst) {
  return ir::Info(inst.op).effect == ir::Effect::kPure && inst.op != Opcode::kUndef &&
         inst.op != Opcode::kAgree && inst.op != Opcode::kAgreeIndex && inst.op != Opcode::kToGeneric &&
         inst.op != Opcode::kSpecialRegister;
}

}  // namespace

AddressForms::AddressForms(const ir::Module& module, const ir::Function& f,
                           const UniformityResult& uniformity, LaunchShape shape,
                           const std::vector<ValueId>& addresses)
    : f_(f), uniformity_(uniformity), shape_(shape) {
  forms_.resize(f.values.size());
  Cfg g = BuildCfg(f);
  LoopForest loops = Loops(g);
  in_loop_.resize(f.blocks.size());
  for (uint32_t b = 0; b < f.blocks.size(); ++b) in_loop_[b] = loops.innermost[b] != kNoNode;
  FindNeeded(addresses);
  for (uint32_t node : g.order) {
    if (node == g.exit) continue;
    const ir::Block& block = f.at_block({node});
    for (ValueId param : block.params) {
      if (needed_[param.index]) forms_[param.index] = Opaque(param);
    }
    for (ir::InstId id : block.insts) {
      const ir::Inst& inst = f.at_inst(id);
      for (uint32_t n = 0; n < inst.results.size(); ++n) {
        if (needed_[inst.results[n].index]) forms_[inst.results[n].index] = FormOf(inst, n);
      }
    }
  }
}

void AddressForms::FindNeeded(const std::vector<ValueId>& addresses) {
  needed_.resize(f_.values.size());
  std::vector<ValueId> work;
  auto need = [&](ValueId value) {
    if (!needed_[value.index]) work.push_back(value);
    needed_[value.index] = true;
  };
  for (ValueId value : addresses) need(value);
  while (!work.empty()) {
    ir::InstId def = f_.at_value(work.back()).def;
    work.pop_back();
    if (!def.valid()) continue;
    for (ValueId operand : f_.at_inst(def).operands) need(operand);
  }
}

Polynomial AddressForms::Single(const Key& key, Atom atom) {
  auto [it, made] = numbers_.try_emplace(key, static_cast<uint32_t>(atoms_.size()));
  if (made) atoms_.push_back(std::move(atom));
  Polynomial p;
  p.terms.push_back({{it->second}, 1});
  return p;
}

// A value of which nothing is known but, outside of loops, that it is computed once.
Polynomial AddressForms::Opaque(ValueId value) {
  Atom atom;
  atom.uniform = uniformity_.UniformAt(value, ir::Level::kBlock) && !in_loop_[f_.at_value(value).block.index];
  return Single({static_cast<int64_t>(AtomKind::kValue), value.index}, std::move(atom));
}

Polynomial AddressForms::SpecialRegister(const ir::Inst& inst, ValueId result) {
  using enum ir::Special;
  ir::Special special = inst.attrs.special;
  if (!IsWord(inst.type) || (inst.attrs.flags & ir::kVolatile)) return Opaque(result);
  Atom atom;
  if (special >= kTidX && special <= kTidZ) {
    int axis = static_cast<int>(special) - static_cast<int>(kTidX);
    int64_t extent = ExtentOf(shape_, axis);
    if (extent == 1) return Constant(0);
    atom.kind = static_cast<AtomKind>(static_cast<int>(AtomKind::kThreadX) + axis);
    atom.low = 0;
    atom.high = (extent ? extent : axis == 2 ? kMaxBlockZ : kMaxThreads) - 1;
    const auto kind = static_cast<int64_t>(atom.kind);
    return Single({kind}, std::move(atom));
  }
  if (!IsSteady(special)) return Opaque(result);
  atom.kind = AtomKind::kSpecial;
  atom.uniform = uniformity_.UniformAt(result, ir::Level::kBlock);
  if (special >= kNtidX && special <= kNtidZ) {
    int axis = static_cast<int>(special) - static_cast<int>(kNtidX);
    if (uint32_t extent = ExtentOf(shape_, axis)) return Constant(extent);
    atom.kind = AtomKind::kExtent;
    atom.index = static_cast<uint32_t>(axis);
    atom.low = 1;
    atom.high = axis == 2 ? kMaxBlockZ : kMaxThreads;
  }
  Key key{static_cast<int64_t>(AtomKind::kSpecial), static_cast<int64_t>(special), inst.attrs.index,
          static_cast<int64_t>(inst.type)};
  return Single(key, std::move(atom));
}

Polynomial AddressForms::FormOf(const ir::Inst& inst, uint32_t result) {
  auto operand = [&](size_t n) -> const Polynomial& { return forms_[inst.operands[n].index]; };
  if (inst.op == Opcode::kSpecialRegister) {
    return SpecialRegister(inst, inst.results[result]);
  }
  if (inst.op == Opcode::kParamBase) {
    Atom atom;
    atom.kind = AtomKind::kParamBase;
    atom.uniform = true;
    return Single({static_cast<int64_t>(AtomKind::kParamBase)}, std::move(atom));
  }
  if (inst.op == Opcode::kSymbol) {
    if (inst.attrs.space == Space::kLocal) return Opaque(inst.results[result]);
    Atom atom;
    atom.kind = AtomKind::kVariable;
    atom.uniform = true;
    atom.index = inst.attrs.index;
    if (inst.attrs.space == Space::kShared) {
      atom.low = 0;
      atom.high = kSharedEnd;
    }
    return Single({static_cast<int64_t>(AtomKind::kVariable), inst.attrs.index}, std::move(atom));
  }
  if (inst.op == Opcode::kToGeneric || inst.op == Opcode::kFromGeneric) {
    if (inst.attrs.space == Space::kGlobal) return operand(0);
    if (inst.attrs.space != Space::kShared) return Opaque(inst.results[result]);
    Atom atom;
    atom.kind = AtomKind::kWindow;
    atom.uniform = true;
    Polynomial window = Single({static_cast<int64_t>(AtomKind::kWindow)}, std::move(atom));
    return Sum(operand(0), window, inst.op == Opcode::kToGeneric ? 1 : -1);
  }
  if (inst.op == Opcode::kLoad) {
    bool frozen = (inst.attrs.space == Space::kParam || inst.attrs.space == Space::kConst) &&
                  inst.attrs.order == ir::MemoryOrder::kWeak;
    if (!frozen) return Opaque(inst.results[result]);
    Atom atom;
    atom.kind = AtomKind::kFrozen;
    atom.inner = operand(0);
    atom.uniform = Uniform(atom.inner);
    Key key{static_cast<int64_t>(AtomKind::kFrozen), static_cast<int64_t>(inst.type), result};
    AppendTo(key, atom.inner);
    return Single(key, std::move(atom));
  }
  return Arithmetic(inst, result);
}

Polynomial AddressForms::Arithmetic(const ir::Inst& inst, uint32_t result) {
  if (!IsWord(inst.type) || (inst.attrs.flags & ir::kSat)) return Operation(inst, result);
  auto operand = [&](size_t n) -> const Polynomial& { return forms_[inst.operands[n].index]; };
  auto constant = [&](size_t n) { return operand(n).terms.empty(); };
  int bits = ir::Bits(inst.type);
  std::optional<Polynomial> found;
  if (inst.op == Opcode::kConst) {
    return Reduced(Constant(static_cast<int64_t>(inst.attrs.bits)), bits);
  } else if (inst.op == Opcode::kAdd) {
    found = Sum(operand(0), operand(1));
  } else if (inst.op == Opcode::kSub) {
    found = Sum(operand(0), operand(1), -1);
  } else if (inst.op == Opcode::kNeg) {
    found = Sum({}, operand(0), -1);
  } else if (inst.op == Opcode::kMul) {
    found = Product(operand(0), operand(1));
  } else if (inst.op == Opcode::kShl) {
    int64_t amount = operand(1).constant;
    if (constant(1) && amount >= 0 && amount < bits)
      found = Sum({}, operand(0), static_cast<int64_t>(uint64_t{1} << amount));
  } else if (inst.op == Opcode::kOr) {
    // adds where the two have no bit in common
    size_t plain = constant(0) ? 0 : 1;
    int64_t low = operand(plain).constant;
    int zeros = TrailingZeros(operand(1 - plain));
    if (constant(plain) && low >= 0 && (zeros >= 63 || low < (int64_t{1} << zeros)))
      found = Sum(operand(0), operand(1));
  } else if (inst.op == Opcode::kZext || inst.op == Opcode::kSext) {
    if (inst.type == ir::Type::kI64 && inst.from == ir::Type::kI32) return Widened(inst);
  } else if (inst.op == Opcode::kTrunc && inst.from == ir::Type::kI64) {
    Polynomial low = Constant(operand(0).constant);
    for (const Term& term : operand(0).terms) {
      const Atom& atom = atoms_[term.atoms[0]];
      bool widened = term.atoms.size() == 1 && atom.kind == AtomKind::kWiden;
      Polynomial whole;
      whole.terms.push_back({term.atoms, 1});
      low = Sum(low, widened ? atom.inner : whole, term.factor);
    }
    found = std::move(low);
  }
  if (!found || found->terms.size() > 10) return Operation(inst, result);
  return Reduced(std::move(*found), bits);
}

Polynomial AddressForms::Widened(const ir::Inst& inst) {
  const Polynomial& narrow = forms_[inst.operands[0].index];
  bool is_signed = inst.op == Opcode::kSext;
  int64_t low = 0, high = 0;
  int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : int64_t{UINT32_MAX};
  if (Bounds(narrow, low, high) && low >= least && high <= most) return narrow;
  Atom atom;
  atom.kind = AtomKind::kWiden;
  atom.is_signed = is_signed;
  atom.inner = narrow;
  atom.uniform = Uniform(narrow);
  Key key{static_cast<int64_t>(AtomKind::kWiden), is_signed};
  AppendTo(key, narrow);
  return Single(key, std::move(atom));
}

// All attributes count, also those that a row is given later.
int64_t AddressForms::NumberOf(const ir::Attrs& attributes) {
  auto found = std::ranges::find(attributes_, attributes);
  if (found == attributes_.end()) found = attributes_.insert(found, attributes);
  return found - attributes_.begin();
}

Polynomial AddressForms::Operation(const ir::Inst& inst, uint32_t result) {
  if (!IsPureOperation(inst)) return Opaque(inst.results[result]);
  Atom atom;
  atom.kind = AtomKind::kOperation;
  atom.uniform = true;
  Key key{static_cast<int64_t>(AtomKind::kOperation),
          static_cast<int64_t>(inst.op),
          static_cast<int64_t>(inst.type),
          static_cast<int64_t>(inst.from),
          NumberOf(inst.attrs),
          result};
  for (ValueId operand : inst.operands) {
    const Polynomial& form = forms_[operand.index];
    atom.uniform &= Uniform(form);
    AppendTo(key, form);
  }
  return Single(key, std::move(atom));
}

bool AddressForms::Uniform(const Term& term) const {
  return std::all_of(term.atoms.begin(), term.atoms.end(), [&](uint32_t a) { return atoms_[a].uniform; });
}

bool AddressForms::Uniform(const Polynomial& p) const {
  return std::all_of(p.terms.begin(), p.terms.end(), [&](const Term& term) { return Uniform(term); });
}

bool AddressForms::Bounds(const Polynomial& p, int64_t& low, int64_t& high) const {
  __int128 least = p.constant, most = p.constant;
  for (const Term& term : p.terms) {
    __int128 reach = 1;  // atoms with bounds are never negative
    __int128 floor = 1;
    for (uint32_t a : term.atoms) {
      if (atoms_[a].low > atoms_[a].high || atoms_[a].low < 0) return false;
      reach *= atoms_[a].high;
      floor *= atoms_[a].low;
      if (reach > INT64_MAX) return false;
    }
    least += term.factor * (term.factor > 0 ? floor : reach);
    most += term.factor * (term.factor > 0 ? reach : floor);
  }
  if (least < INT64_MIN || most > INT64_MAX) return false;
  low = static_cast<int64_t>(least);
  high = static_cast<int64_t>(most);
  return true;
}

MemoryObject AddressForms::ObjectOf(const Polynomial& address) const {
  uint32_t variables = 0, pointers = 0;
  MemoryObject variable, pointer;
  for (const Term& term : address.terms) {
    if (term.atoms.size() != 1 || term.factor != 1) continue;
    const Atom& atom = atoms_[term.atoms[0]];
    switch (atom.kind) {
      case AtomKind::kVariable:
        ++variables;
        variable = {MemoryObject::Kind::kVariable, atom.index};
        break;
      case AtomKind::kWiden: {  // a 32-bit address
        MemoryObject inner = ObjectOf(atom.inner);
        if (inner.kind != MemoryObject::Kind::kVariable) break;
        ++variables;
        variable = inner;
        break;
      }
      case AtomKind::kFrozen:
        ++pointers;
        pointer = {MemoryObject::Kind::kParameter, term.atoms[0]};
        break;
      case AtomKind::kValue:
      case AtomKind::kOperation:
      case AtomKind::kWindow:
      case AtomKind::kParamBase:
        pointers += 2;  // may be the pointer
        break;
      case AtomKind::kThreadX:
      case AtomKind::kThreadY:
      case AtomKind::kThreadZ:
      case AtomKind::kExtent:
      case AtomKind::kSpecial:
        break;
    }
  }
  if (variables == 1) return variable;
  return variables == 0 && pointers == 1 ? pointer : MemoryObject{};
}

bool AddressForms::ToWindowOffset(Polynomial& address) const {
  for (auto term = address.terms.begin(); term != address.terms.end(); ++term) {
    if (term->atoms.size() != 1 || atoms_[term->atoms[0]].kind != AtomKind::kWindow) continue;
    if (term->factor != 1) return false;
    address.terms.erase(term);
    return true;
  }
  return false;
}

}  // namespace ptx2cpu::analysis
