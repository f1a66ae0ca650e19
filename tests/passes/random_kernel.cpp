#include "tests/passes/random_kernel.h"

#include <random>

#include "ir/build.h"
#include "tests/passes/kernel_run.h"

namespace ptx2cpu::test {
namespace {

using ir::BlockId;
using ir::Builder;
using ir::Compare;
using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

// The threads that always execute this code together: all of the block, of a warp, the lanes of a mask that
// have not exited.
enum class Together { kBlock, kWarp, kMasked, kAlone };

constexpr size_t kVariables = 4;
constexpr uint32_t kTileBytes = 4096;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  ir::Module Make() {
    module_.name = "random";
    module_.sm = 80;
    ir::Variable tile;
    tile.name = "tile";
    tile.space = Space::kShared;
    tile.size = kTileBytes;
    tile.align = 16;
    module_.variables.push_back(tile);
    module_.static_shared_bytes = kTileBytes;
    module_.functions.emplace_back();
    f_ = &module_.functions[0];
    f_->name = "k";
    f_->is_kernel = true;
    f_->params = {{"data", Type::kI64, 0, 8, 8}, {"n", Type::kI32, 8, 4, 4}};
    f_->param_bytes = 12;
    here_ = f_->entry = ir::AddBlock(*f_);
    Prelude();
    Statements(Together::kBlock, 0);
    Finish();
    return std::move(module_);
  }

 private:
  Builder At() { return {*f_, here_, {.ptx_line = ++line_}}; }
  uint32_t Pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  ValueId Number(uint64_t bits) { return At().Const(Type::kI32, bits); }
  ValueId Word(ValueId base, ValueId index) {
    ValueId wide = At().Convert(Opcode::kZext, Type::kI64, index);
    return At().Binary(Opcode::kAdd, Type::kI64, base,
                       At().Binary(Opcode::kShl, Type::kI64, wide, Number(2)));
  }

  void Prelude() {
    ValueId params = At().ParamBase();
    ValueId data = At().Load(Type::kI64, Space::kParam, params);
    ValueId after = At().Binary(Opcode::kAdd, Type::kI64, params, At().Const(Type::kI64, 8));
    n_ = At().Load(Type::kI32, Space::kParam, after);
    tid_ = At().SpecialRegister(ir::Special::kTidX);
    ntid_ = At().SpecialRegister(ir::Special::kNtidX);
    lane_ = At().SpecialRegister(ir::Special::kLaneId);
    warp_ = At().Binary(Opcode::kShrU, Type::kI32, tid_, Number(5));
    cta_ = At().SpecialRegister(ir::Special::kCtaidX);
    ValueId gid =
        At().Binary(Opcode::kAdd, Type::kI32, At().Binary(Opcode::kMul, Type::kI32, cta_, ntid_), tid_);
    mine_ = Word(data, gid);
    tile_ = At().Symbol(Space::kShared, 0);
    slot_ = Word(tile_, tid_);
    At().Store(Type::kI32, Space::kShared, slot_, {tid_});
    At().Make(Opcode::kBarrierBlock, Type::kVoid, {Number(0)}, {.flags = ir::kAligned});
    variables_ = {At().Load(Type::kI32, Space::kGlobal, mine_), tid_, n_, Number(1)};
    uniform_[0] = {n_, cta_};
    uniform_[1] = {warp_};
  }

  void Finish() {
    ValueId sum = variables_[0];
    for (size_t v = 1; v < kVariables; ++v) sum = At().Binary(Opcode::kXor, Type::kI32, sum, variables_[v]);
    At().Store(Type::kI32, Space::kGlobal, mine_, {sum});
    At().Ret();
  }

  void Statements(Together who, uint32_t depth) {
    uint32_t count = 1 + Pick(4);
    for (uint32_t i = 0; i < count && f_->insts.size() < 500; ++i) Statement(who, depth);
  }

  void Statement(Together who, uint32_t depth) {
    if (who != Together::kAlone && depth < 4 && Pick(5) == 0)
      return Pick(4) ? MaskedIf(depth) : MaskedShortCircuit(depth);
    switch (Pick(depth < 3 ? 9 : 4)) {
      case 0:
      case 1:
        return Arithmetic();
      case 2:
        return who == Together::kBlock ? Exchange() : Arithmetic();
      case 3:
        return who == Together::kAlone ? Arithmetic() : Collective(who);
      case 4:
      case 5:
        return If(who, depth);
      case 6:
        return Loop(who, depth);
      case 7:
        return ShortCircuit(who, depth);
      default:
        return Pick(3) ? If(who, depth) : EarlyExit();
    }
  }

  void Arithmetic() {
    constexpr Opcode kOps[] = {Opcode::kAdd, Opcode::kXor, Opcode::kMul, Opcode::kSub, Opcode::kMinU};
    ValueId a = variables_[Pick(kVariables)], b = Pick(4) ? variables_[Pick(kVariables)] : Number(Pick(100));
    variables_[Pick(kVariables)] = At().Binary(kOps[Pick(5)], Type::kI32, a, b);
  }

  // Through shared memory with a barrier before and after the reads.
  void Exchange() {
    if (Pick(4) == 0) return BlockReduction();
    At().Store(Type::kI32, Space::kShared, slot_, {variables_[Pick(kVariables)]});
    Barrier();
    ValueId other = At().Binary(Opcode::kAdd, Type::kI32, tid_, Number(1 + Pick(40)));
    bool first = Pick(3) == 0;
    ValueId from = first ? tile_ : Word(tile_, At().Binary(Opcode::kRemU, Type::kI32, other, ntid_));
    ValueId value = At().Load(Type::kI32, Space::kShared, from);
    if (first) uniform_[0].push_back(value);  // the same for all, but nothing proves it
    variables_[Pick(kVariables)] = value;
    Barrier();
  }
  void Barrier() {
    At().Make(Opcode::kBarrierBlock, Type::kVoid, {Number(Pick(3))}, {.flags = ir::kAligned});
  }
  void BlockReduction() {
    ValueId predicate = Condition(Together::kAlone);
    ValueId count =
        At().Inst1(Opcode::kBarrierReducePopc, Type::kVoid, {predicate, Number(0)}, {.flags = ir::kAligned});
    variables_[Pick(kVariables)] = count;
    uniform_[0].push_back(count);
  }

  // Under a mask shuffles read the last lane of it, which is there unless lanes end early.
  void Collective(Together who) {
    ValueId members = Members(), value = variables_[Pick(kVariables)], result;
    switch (Pick(exits_ ? 3 : 5)) {
      case 0:
        result = At().Inst1(Opcode::kBallot, Type::kVoid, {Condition(Together::kAlone), members});
        break;
      case 1:
        result = At().Inst1(Opcode::kRedux, Type::kI32, {value, members}, {.atomic = ir::AtomicOp::kAdd});
        break;
      case 2:
        result = At().Inst1(Opcode::kMatchAny, Type::kI32, {value, members});
        break;
      default: {
        bool masked = who == Together::kMasked;
        ir::ShuffleMode mode = masked    ? ir::ShuffleMode::kIdx
                               : Pick(2) ? ir::ShuffleMode::kBfly
                                         : ir::ShuffleMode::kDown;
        ValueId from = masked ? Last(members) : Number(Pick(32));
        result =
            At().Inst2(Opcode::kShuffle, Type::kI32, {value, from, Number(31), members}, {.shuffle = mode})
                .first;
      }
    }
    variables_[Pick(kVariables)] = result;
  }
  ValueId Members() { return mask_.valid() ? mask_ : Number(~0u); }
  ValueId Last(ValueId members) {
    return At().Binary(Opcode::kSub, Type::kI32, Number(31), At().Unary(Opcode::kClz, Type::kI32, members));
  }

  // The lanes diverge; each arm knows its lanes by a ballot. One arm may end its lanes.
  void MaskedIf(uint32_t depth) {
    ValueId condition = Condition(Together::kAlone), outer = mask_, all = Members();
    ValueId takers = At().Inst1(Opcode::kBallot, Type::kVoid, {condition, all});
    ValueId others = At().Binary(Opcode::kAnd, Type::kI32, all, At().Unary(Opcode::kNot, Type::kI32, takers));
    BlockId then = ir::AddBlock(*f_), otherwise = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    bool has_else = Pick(2), swapped = Pick(2), ends = Pick(5) == 0;
    std::vector<ValueId> before = variables_;
    ir::Edge first{then, {}}, second = has_else ? ir::Edge{otherwise, {}} : ir::Edge{join, before};
    if (swapped) std::swap(first, second);
    At().CondBr(condition, first, second);
    Scope scope = Enter();
    here_ = then;
    mask_ = swapped ? others : takers;
    Statements(Together::kMasked, depth + 1);
    if (ends) {
      exits_ = true;
      Finish();
    } else {
      At().Br(join, variables_);
    }
    Leave(scope);
    variables_ = before;
    here_ = otherwise;
    mask_ = swapped ? takers : others;
    if (has_else) {
      Statements(Together::kMasked, depth + 1);
      At().Br(join, variables_);
      Leave(scope);
    } else {
      At().Terminate(Opcode::kUnreachable);
    }
    mask_ = outer;
    Continue(join);
  }

  // if (first) { statements; if (second) skip the shared arm } shared arm: some come to it at once, some
  // later. All decide beforehand, so that the mask of the shared arm is known.
  void MaskedShortCircuit(uint32_t depth) {
    ValueId first = Condition(Together::kAlone), second = Condition(Together::kAlone);
    ValueId skips = At().Binary(Opcode::kAnd, Type::kI1, first, second), outer = mask_, all = Members();
    ValueId takers = At().Inst1(Opcode::kBallot, Type::kVoid, {first, all});
    ValueId skipping = At().Inst1(Opcode::kBallot, Type::kVoid, {skips, all});
    ValueId sharing =
        At().Binary(Opcode::kAnd, Type::kI32, all, At().Unary(Opcode::kNot, Type::kI32, skipping));
    BlockId then = ir::AddBlock(*f_), shared = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    bool swapped = Pick(2);
    At().CondBr(first, {then, {}}, {shared, variables_});
    Scope scope = Enter();
    here_ = then;
    mask_ = takers;
    Statements(Together::kMasked, depth + 1);
    ir::Edge skip{join, variables_}, share{shared, variables_};
    if (swapped) {
      At().CondBr(At().Unary(Opcode::kNot, Type::kI1, second), share, skip);
    } else {
      At().CondBr(second, skip, share);
    }
    Leave(scope);
    mask_ = sharing;
    Continue(shared);
    Statements(Together::kMasked, depth + 1);
    At().Br(join, variables_);
    Leave(std::move(scope));
    mask_ = outer;
    Continue(join);
  }

  // A condition on which all that go together agree.
  ValueId Condition(Together who) {
    ValueId left;
    switch (who) {
      case Together::kBlock:
        left = uniform_[0][Pick(static_cast<uint32_t>(uniform_[0].size()))];
        break;
      case Together::kWarp:
      case Together::kMasked:
        left = uniform_[1][Pick(static_cast<uint32_t>(uniform_[1].size()))];
        break;
      case Together::kAlone:
        left = Pick(2) ? lane_ : variables_[Pick(kVariables)];
    }
    ValueId low = At().Binary(Opcode::kAnd, Type::kI32, left, Number(Pick(2) ? 3 : 31));
    return At().Icmp(Pick(2) ? Compare::kUlt : Compare::kNe, low, Number(Pick(6)));
  }

  // How finely a branch in this code may divide threads: never more coarsely than they execute together here.
  Together Divide(Together who) {
    constexpr Together kWays[] = {Together::kBlock, Together::kWarp, Together::kAlone};
    return std::max(who, kWays[Pick(3)]);
  }
  std::vector<ValueId>& UniformIn(Together who) { return uniform_[who == Together::kBlock ? 0 : 1]; }

  struct Scope {
    std::vector<ValueId> uniform[2];
  };
  Scope Enter() { return {{uniform_[0], uniform_[1]}}; }
  void Leave(Scope scope) {
    uniform_[0] = std::move(scope.uniform[0]);
    uniform_[1] = std::move(scope.uniform[1]);
  }
  // Makes the variables parameters of `block` and continues there.
  void Continue(BlockId block) {
    here_ = block;
    for (ValueId& variable : variables_) variable = ir::AddParam(*f_, block, Type::kI32);
  }

  void If(Together who, uint32_t depth) {
    Together inside = Divide(who);
    ValueId condition = Condition(inside);
    BlockId then = ir::AddBlock(*f_), otherwise = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    bool has_else = Pick(2);
    std::vector<ValueId> before = variables_;
    At().CondBr(condition, {then, {}}, has_else ? ir::Edge{otherwise, {}} : ir::Edge{join, before});
    Scope scope = Enter();
    here_ = then;
    Statements(inside, depth + 1);
    At().Br(join, variables_);
    Leave(scope);
    variables_ = before;
    here_ = otherwise;
    if (has_else) {
      Statements(inside, depth + 1);
      At().Br(join, variables_);
      Leave(scope);
    } else {
      At().Terminate(Opcode::kUnreachable);
    }
    Continue(join);
  }

  // if (first && (statements, second)) skip; else shared: the shared arm is reached together and alone.
  void ShortCircuit(Together who, uint32_t depth) {
    Together inside = Divide(who);
    BlockId then = ir::AddBlock(*f_), shared = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    At().CondBr(Condition(inside), {then, {}}, {shared, variables_});
    Scope scope = Enter();
    here_ = then;
    Statements(inside, depth + 1);
    Together second = Divide(inside);
    At().CondBr(Condition(second), {join, variables_}, {shared, variables_});
    uniform_[0] = scope.uniform[0];
    uniform_[1] = scope.uniform[1];
    Continue(shared);
    Statements(second, depth + 1);
    At().Br(join, variables_);
    Leave(std::move(scope));
    Continue(join);
  }

  // Top- or bottom-tested, at most four trips, perhaps with a break.
  void Loop(Together who, uint32_t depth) {
    Together inside = Divide(who);
    ValueId limit = inside == Together::kAlone ? lane_ : UniformIn(inside)[0];
    limit = At().Binary(Opcode::kAnd, Type::kI32, limit, Number(3));
    BlockId header = ir::AddBlock(*f_), body = ir::AddBlock(*f_), latch = ir::AddBlock(*f_),
            out = ir::AddBlock(*f_);
    bool top = Pick(2), breaks = Pick(2);
    std::vector<ValueId> args = variables_;
    args.push_back(Number(0));
    At().Br(header, args);
    Scope scope = Enter();
    Continue(header);
    ValueId counter = ir::AddParam(*f_, header, Type::kI32);
    if (inside != Together::kAlone) UniformIn(inside).push_back(counter);
    if (top) {
      At().CondBr(At().Icmp(Compare::kUlt, counter, limit), {body, {}}, {out, variables_});
    } else {
      At().Br(body);
    }
    here_ = body;
    Statements(inside, depth + 1);
    if (breaks) {
      BlockId rest = ir::AddBlock(*f_);
      At().CondBr(Condition(inside), {rest, {}}, {out, variables_});
      here_ = rest;
      Statements(inside, depth + 2);
    }
    At().Br(latch);
    here_ = latch;
    args = variables_;
    args.push_back(At().Binary(Opcode::kAdd, Type::kI32, counter, Number(1)));
    if (top) {
      At().Br(header, args);
    } else {
      At().CondBr(At().Icmp(Compare::kUlt, args.back(), limit), {header, args}, {out, variables_});
    }
    Leave(scope);
    Continue(out);
  }

  void EarlyExit() {
    exits_ = true;
    BlockId leave = ir::AddBlock(*f_), stay = ir::AddBlock(*f_);
    At().CondBr(Condition(Together::kAlone), {leave, {}}, {stay, {}});
    here_ = leave;
    std::vector<ValueId> before = variables_;
    if (Pick(2)) Arithmetic();
    Finish();
    variables_ = before;
    here_ = stay;
  }

  std::mt19937_64 random_;
  ir::Module module_;
  ir::Function* f_ = nullptr;
  BlockId here_;
  uint32_t line_ = 0;
  std::vector<ValueId> variables_;
  std::vector<ValueId> uniform_[2];  // values that all of the block, of the warp (or of the mask) share
  ValueId mask_;                     // in masked code: the lanes that run it, exited ones perhaps among them
  ValueId n_, tid_, ntid_, lane_, warp_, cta_, mine_, tile_, slot_;
  bool exits_ = false;
};

}  // namespace

ir::Module RandomKernel(uint64_t seed) { return Generator(seed).Make(); }

}  // namespace ptx2cpu::test
