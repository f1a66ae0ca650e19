#include "tests/llvm/lane_kernel.h"

#include <iterator>
#include <random>

#include "ir/build.h"

namespace ptx2cpu::llvm_test {
namespace {

using ir::BlockId;
using ir::Builder;
using ir::Compare;
using ir::Opcode;
using ir::Space;
using ir::Type;
using ir::ValueId;

constexpr size_t kVariables = 5;
constexpr uint32_t kInputWords = 1024;  // of data; after them each thread has four
constexpr uint32_t kTileBytes = 2048;   // four words for each thread of a block

class Generator {
 public:
  Generator(uint64_t seed, Blocks blocks) : random_(seed), blocks_(blocks) {}

  ir::Module Make() {
    module_.name = "lanes";
    module_.sm = 80;
    ir::Variable& tile = module_.variables.emplace_back();
    tile.name = "tile";
    tile.space = Space::kShared;
    tile.size = kTileBytes;
    tile.align = 16;
    module_.static_shared_bytes = kTileBytes;
    f_ = &module_.functions.emplace_back();
    f_->name = "k";
    f_->is_kernel = true;
    f_->params = {{"data", Type::kI64, 0, 8, 8}, {"n", Type::kI32, 8, 4, 4}};
    f_->param_bytes = 12;
    here_ = f_->entry = ir::AddBlock(*f_);
    strided_ = Pick(2) != 0;
    apart_ = Pick(4) == 0;
    Prelude();
    Statements(0);
    if (Pick(3) == 0) {  // values that cross a region
      At().Make(Opcode::kBarrierBlock, Type::kVoid, {Number(0)}, {.flags = ir::kAligned});
      Statements(1);
    }
    Finish();
    return std::move(module_);
  }

 private:
  struct Around {  // a loop that code may leave or continue
    BlockId out, latch;
  };

  Builder At() { return {*f_, here_, {.ptx_line = ++line_}}; }
  uint32_t Pick(uint32_t count) { return static_cast<uint32_t>(random_() % count); }
  ValueId Number(uint64_t bits) { return At().Const(Type::kI32, bits); }
  ValueId Add(ValueId a, ValueId b) { return At().Binary(Opcode::kAdd, Type::kI32, a, b); }
  ValueId And(ValueId a, uint32_t mask) { return At().Binary(Opcode::kAnd, Type::kI32, a, Number(mask)); }
  ValueId Variable() { return variables_[Pick(kVariables)]; }
  void Set(ValueId value) { variables_[Pick(kVariables)] = value; }

  ValueId Address(ValueId base, ValueId index, uint32_t bytes) {
    ValueId wide = At().Convert(Pick(3) ? Opcode::kZext : Opcode::kSext, Type::kI64, index);
    ValueId offset = Pick(2) ? At().Binary(Opcode::kMul, Type::kI64, wide, At().Const(Type::kI64, bytes))
                             : At().Binary(Opcode::kShl, Type::kI64, wide,
                                           Number(static_cast<uint64_t>(std::countr_zero(bytes))));
    return At().Binary(Opcode::kAdd, Type::kI64, base, offset);
  }

  void Prelude() {
    ValueId params = At().ParamBase();
    data_ = At().Load(Type::kI64, Space::kParam, params);
    n_ = At().Load(Type::kI32, Space::kParam,
                   At().Binary(Opcode::kAdd, Type::kI64, params, At().Const(Type::kI64, 8)));
    tid_ = At().SpecialRegister(ir::Special::kTidX);
    ntid_ = At().SpecialRegister(ir::Special::kNtidX);
    if (blocks_ == Blocks::kAnyShape) NumberThreads();
    lane_ = Pick(2) && blocks_ == Blocks::kLine ? At().SpecialRegister(ir::Special::kLaneId) : And(tid_, 31);
    ValueId warp = At().Binary(Opcode::kShrU, Type::kI32, tid_, Number(5));
    ValueId cta = At().SpecialRegister(ir::Special::kCtaidX);
    ValueId gid = Add(At().Binary(Opcode::kMul, Type::kI32, cta, ntid_), tid_);
    ValueId all = At().Binary(Opcode::kMul, Type::kI32, ntid_, At().SpecialRegister(ir::Special::kNctaidX));
    own_data_ = strided_ ? Add(Number(kInputWords), At().Binary(Opcode::kShl, Type::kI32, gid, Number(2)))
                         : Add(Number(kInputWords), gid);
    step_data_ = all;
    own_tile_ = strided_ ? At().Binary(Opcode::kMul, Type::kI32, tid_, Number(4)) : tid_;
    step_tile_ = ntid_;
    tile_ = At().Symbol(Space::kShared, 0);
    for (uint32_t k = 0; k < 4; ++k) {
      At().Store(Type::kI32, Space::kShared, Address(tile_, Own(true, k), 4), {Number(k)});
    }
    variables_ = {tid_, n_, lane_, warp, Add(gid, n_)};
  }

  // tid_, ntid_: of the whole block.
  void NumberThreads() {
    auto times = [&](ValueId a, ValueId b) { return At().Binary(Opcode::kMul, Type::kI32, a, b); };
    ValueId height = At().SpecialRegister(ir::Special::kNtidY);
    ValueId row = Add(times(At().SpecialRegister(ir::Special::kTidZ), height),
                      At().SpecialRegister(ir::Special::kTidY));
    tid_ = Add(times(row, ntid_), tid_);
    ntid_ = times(times(ntid_, height), At().SpecialRegister(ir::Special::kNtidZ));
  }

  // Number of the k-th word of this thread.
  ValueId Own(bool shared, uint32_t k) {
    ValueId first = shared ? own_tile_ : own_data_, step = shared ? step_tile_ : step_data_;
    return strided_ ? Add(first, Number(k))
                    : Add(first, At().Binary(Opcode::kMul, Type::kI32, step, Number(k)));
  }

  void Finish() {
    ValueId sum = variables_[0];
    for (size_t v = 1; v < kVariables; ++v)
      sum = At().Binary(Opcode::kXor, Type::kI32, Add(sum, sum), variables_[v]);
    At().Store(Type::kI32, Space::kGlobal, Address(data_, Own(false, 3), 4), {sum});
    At().Ret();
    ended_ = true;
  }

  void Statements(uint32_t depth) {
    uint32_t count = 1 + Pick(4);
    for (uint32_t i = 0; i < count && !ended_ && f_->insts.size() < 700; ++i) Statement(depth);
  }

  void Statement(uint32_t depth) {
    switch (Pick(depth < 4 ? 14 : 8)) {
      case 0:
      case 1:
        return Arithmetic();
      case 2:
      case 3:
        return Read();
      case 4:
        return Write();
      case 5:
        return ReadOwn();
      case 6:
        return Set(At().Select(Condition(), Variable(), Variable()));
      case 7:
        return Pick(2) ? Jump() : Arithmetic();
      case 8:
      case 9:
        return If(depth);
      case 10:
      case 11:
        return Loop(depth);
      case 12:
        return Shared(depth);
      default:
        return Pick(3) == 0 ? Switch(depth) : Pick(3) == 0 ? Behind() : Pick(2) ? Walk() : WalkAlongEdge();
    }
  }

  void Arithmetic() {
    constexpr Opcode kOps[] = {Opcode::kAdd,    Opcode::kXor,  Opcode::kMul,  Opcode::kSub,  Opcode::kMinU,
                               Opcode::kShrU,   Opcode::kDivU, Opcode::kAnd,  Opcode::kAdd,  Opcode::kOr,
                               Opcode::kMaxS,   Opcode::kShl,  Opcode::kDivS, Opcode::kRemS, Opcode::kMulHiU,
                               Opcode::kMulHiS, Opcode::kRemU, Opcode::kShrS};
    Opcode op = kOps[Pick(std::size(kOps))];
    ValueId a = Variable(), b = Pick(3) ? Variable() : Number(Pick(2) ? Pick(100) : uint32_t{0} - Pick(40));
    bool shift = op == Opcode::kShrU || op == Opcode::kShl || op == Opcode::kShrS;
    if (shift) b = Pick(3) ? Number(Pick(8)) : And(b, 63);
    if (op == Opcode::kAnd) b = Number(Pick(2) ? ~31u : 31u | Pick(1024));
    if (Pick(8) == 0) return Wide(op, a, b, shift);
    if (Pick(8) == 0) return Set(At().Unary(Pick(2) ? Opcode::kPopc : Opcode::kClz, Type::kI32, a));
    if (Pick(8) == 0) return Float(a, b);
    Set(At().Binary(op, Type::kI32, a, b));
  }

  void Wide(Opcode op, ValueId a, ValueId b, bool shift) {
    ValueId x = At().Convert(Pick(2) ? Opcode::kSext : Opcode::kZext, Type::kI64, a);
    ValueId y = shift ? b : At().Convert(Opcode::kSext, Type::kI64, b);
    ValueId result = At().Binary(op, Type::kI64, x, y);
    Set(At().Convert(Opcode::kTrunc, Type::kI32,
                     Pick(2) ? result : At().Binary(Opcode::kShrU, Type::kI64, result, Number(20))));
  }

  // Operations on small integers as floats, so that no NaN with a payload appears.
  void Float(ValueId a, ValueId b) {
    auto number = [&](ValueId v) {
      return At().Convert(Opcode::kSToF, Type::kF32, And(v, 0xfff), {.rounding = ir::Rounding::kNearestEven});
    };
    constexpr Opcode kOps[] = {Opcode::kFAdd, Opcode::kFSub, Opcode::kFMul};
    ValueId result = At().Binary(kOps[Pick(3)], Type::kF32, number(a), number(b),
                                 {.rounding = ir::Rounding::kNearestEven});
    Set(At().Convert(Opcode::kFToS, Type::kI32, result, {.rounding = ir::Rounding::kTowardZero}));
  }

  ValueId Condition() {
    ValueId left = Pick(3) ? Variable() : Pick(2) ? lane_ : n_;
    if (Pick(3)) left = And(left, Pick(2) ? 3 : 31);
    return At().Icmp(Pick(2) ? Compare::kUlt : Compare::kNe, left, Pick(3) ? Number(Pick(20)) : Variable());
  }

  // An index that some lanes have beyond a bound, or chosen otherwise than others; numbers near the ends of
  // 32 bits wrap around first.
  ValueId Clamped() {
    constexpr uint32_t kNear[] = {0, 3, ~0u, ~0u - 40, 0x7fffffe8, 0x80000000, 500, 990};
    auto sequence = [&] {
      ValueId start = Add(Pick(4) ? tid_ : Variable(), Number(kNear[Pick(std::size(kNear))]));
      return Pick(4) ? start : At().Binary(Opcode::kSub, Type::kI32, Number(Pick(1000)), start);
    };
    auto clamp = [&](Opcode op, ValueId value, ValueId bound) {
      return Pick(2) ? At().Binary(op, Type::kI32, value, bound) : At().Binary(op, Type::kI32, bound, value);
    };
    ValueId index = sequence();
    if (Pick(3) == 0) index = At().Select(Condition(), index, Pick(2) ? Add(index, Number(7)) : sequence());
    if (Pick(3) == 0) index = Add(index, At().Select(Condition(), Number(Pick(9)), Number(~0u - Pick(9))));
    if (Pick(3) == 0) return clamp(Opcode::kMinU, index, Pick(3) ? Number(60 + Pick(900)) : And(n_, 7));
    if (Pick(2)) index = Add(clamp(Opcode::kMaxU, index, Number(0x80000000)), Number(0x80000000));
    index = clamp(Opcode::kMaxS, index, Pick(3) ? Number(Pick(90)) : And(n_, 7));
    return clamp(Opcode::kMinS, index, Number(100 + Pick(900)));
  }

  // Reads words of the input: the same for all, consecutive, clamped, strided or scattered; perhaps as parts
  // or several at once.
  void Read() {
    ValueId index;
    switch (Pick(7)) {
      case 4:
      case 5:
        index = Clamped();
        break;
      case 0:
        index = And(n_, 7);
        break;
      case 1:
        index = Add(tid_, Number(Pick(100)));
        break;
      case 2:
        index = Add(At().Binary(Opcode::kMul, Type::kI32, tid_, Number(1 + Pick(4))), Number(4 * Pick(10)));
        break;
      case 3:
        index = At().Binary(Opcode::kSub, Type::kI32, Number(200), tid_);
        break;
      default:
        index = And(Variable(), 511);
    }
    if (apart_ && Pick(3) == 0) {
      constexpr Type kParts[] = {Type::kI8, Type::kI16};
      Type part = kParts[Pick(2)];
      ValueId narrow =
          At().Load(part, Space::kGlobal, Address(data_, index, static_cast<uint32_t>(ir::Bytes(part))));
      return Set(At().Convert(Pick(2) ? Opcode::kZext : Opcode::kSext, Type::kI32, narrow));
    }
    if (Pick(3) == 0) {
      uint32_t count = Pick(2) ? 2 : 4;
      std::vector<ValueId> words =
          At().LoadVector(Type::kI32, Space::kGlobal, Address(data_, And(index, 127), 4 * count), count);
      return Set(Add(words[0], words[count - 1]));
    }
    if (Pick(5) == 0) {
      ValueId wide = At().Load(Type::kI64, Space::kGlobal, Address(data_, And(index, 511), 8));
      return Set(
          At().Convert(Opcode::kTrunc, Type::kI32, At().Binary(Opcode::kShrU, Type::kI64, wide, Number(16))));
    }
    Set(At().Load(Type::kI32, Space::kGlobal, Address(data_, index, 4)));
  }

  void Write() {
    bool shared = Pick(2);
    ValueId base = shared ? tile_ : data_;
    Space space = shared ? Space::kShared : Space::kGlobal;
    uint32_t k = Pick(4);
    if (strided_ && Pick(2)) {
      uint32_t count = Pick(2) ? 2 : 4;
      std::vector<ValueId> words;
      for (uint32_t i = 0; i < count; ++i) words.push_back(Variable());
      return At().Store(Type::kI32, space, Address(base, Own(shared, count == 2 ? k & 2 : 0), 4), words);
    }
    ValueId address = Address(base, Own(shared, k), 4);
    if (apart_ && Pick(4) == 0)
      return At().Store(Type::kI16, space, address, {At().Convert(Opcode::kTrunc, Type::kI16, Variable())});
    if (apart_ && Pick(4) == 0) {
      return Set(At().Inst1(Opcode::kAtomic, Type::kI32, {address, Variable()},
                            {.space = space,
                             .atomic = ir::AtomicOp::kAdd,
                             .order = ir::MemoryOrder::kRelaxed,
                             .scope = ir::Scope::kGpu}));
    }
    At().Store(Type::kI32, space, address, {Variable()});
  }

  void ReadOwn() {
    bool shared = Pick(2);
    Set(At().Load(Type::kI32, shared ? Space::kShared : Space::kGlobal,
                  Address(shared ? tile_ : data_, Own(shared, Pick(4)), 4)));
  }

  // Makes the variables parameters of `block` and continues there.
  void Continue(BlockId block) {
    here_ = block;
    ended_ = false;
    for (ValueId& variable : variables_) variable = ir::AddParam(*f_, block, Type::kI32);
  }
  void Leave(BlockId to) {
    if (!ended_) At().Br(to, variables_);
  }

  void If(uint32_t depth) {
    BlockId then = ir::AddBlock(*f_), otherwise = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    bool has_else = Pick(2);
    std::vector<ValueId> before = variables_;
    At().CondBr(Condition(), {then, {}}, has_else ? ir::Edge{otherwise, {}} : ir::Edge{join, before});
    here_ = then;
    Statements(depth + 1);
    Leave(join);
    variables_ = before;
    here_ = otherwise;
    ended_ = false;
    if (has_else) {
      Statements(depth + 1);
      Leave(join);
    } else {
      At().Terminate(Opcode::kUnreachable);
    }
    Continue(join);
  }

  void Switch(uint32_t depth) {
    BlockId join = ir::AddBlock(*f_);
    std::vector<ir::Edge> edges;
    std::vector<BlockId> arms;
    uint32_t count = 2 + Pick(3);
    std::vector<ValueId> before = variables_;
    for (uint32_t i = 0; i < count; ++i) {
      arms.push_back(ir::AddBlock(*f_));
      edges.push_back({arms.back(), {}});
    }
    At().Terminate(Opcode::kSwitch, {And(Variable(), 7)}, edges);
    for (BlockId arm : arms) {
      variables_ = before;
      here_ = arm;
      ended_ = false;
      Statements(depth + 2);
      Leave(join);
    }
    Continue(join);
  }

  // if (first) { statements; if (second) skip } shared arm
  void Shared(uint32_t depth) {
    BlockId then = ir::AddBlock(*f_), shared = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    At().CondBr(Condition(), {then, {}}, {shared, variables_});
    here_ = then;
    Statements(depth + 1);
    if (!ended_) At().CondBr(Condition(), {join, variables_}, {shared, variables_});
    Continue(shared);
    Statements(depth + 1);
    Leave(join);
    Continue(join);
  }

  // Top- or bottom-tested, few trips; code inside may leave or continue any loop around it.
  void Loop(uint32_t depth) {
    BlockId header = ir::AddBlock(*f_), body = ir::AddBlock(*f_), latch = ir::AddBlock(*f_),
            out = ir::AddBlock(*f_);
    ValueId limit = And(Pick(3) ? Variable() : n_, 3);
    bool top = Pick(2);
    std::vector<ValueId> args = variables_;
    args.push_back(Number(0));
    At().Br(header, args);
    Continue(header);
    ValueId counter = ir::AddParam(*f_, header, Type::kI32);
    if (top) {
      At().CondBr(At().Icmp(Compare::kUlt, counter, limit), {body, {}}, {out, variables_});
    } else {
      At().Br(body);
    }
    here_ = body;
    loops_.push_back({out, latch});
    Statements(depth + 1);
    loops_.pop_back();
    Leave(latch);
    Continue(latch);
    args = variables_;
    args.push_back(Add(counter, Number(1)));
    if (top) {
      At().Br(header, args);
    } else {
      At().CondBr(At().Icmp(Compare::kUlt, args.back(), limit), {header, args}, {out, variables_});
    }
    Continue(out);
  }

  // Some lanes leave a loop, continue it, or end.
  void Jump() {
    BlockId stay = ir::AddBlock(*f_);
    if (loops_.empty() || Pick(6) == 0) {
      BlockId leave = ir::AddBlock(*f_);
      At().CondBr(Condition(), {leave, {}}, {stay, {}});
      here_ = leave;
      Finish();
      ended_ = false;
    } else {
      const Around& loop = loops_[Pick(static_cast<uint32_t>(loops_.size()))];
      At().CondBr(Condition(), {Pick(2) ? loop.out : loop.latch, variables_}, {stay, {}});
    }
    here_ = stay;
  }

  // if (tid >= distance) variable = input[tid - distance]: a sequence that wraps around in lanes that are not
  // there.
  void Behind() {
    BlockId then = ir::AddBlock(*f_), join = ir::AddBlock(*f_);
    ValueId distance = Number(1 + Pick(40));
    At().CondBr(At().Icmp(Compare::kUge, tid_, distance), {then, {}}, {join, variables_});
    here_ = then;
    ValueId wide =
        At().Convert(Opcode::kZext, Type::kI64, At().Binary(Opcode::kSub, Type::kI32, tid_, distance));
    ValueId offset = At().Binary(Opcode::kShl, Type::kI64, wide, Number(2));
    Set(At().Load(Type::kI32, Space::kGlobal, At().Binary(Opcode::kAdd, Type::kI64, data_, offset)));
    Leave(join);
    Continue(join);
  }

  // for (p = input + tid; trips--; p += ntid) sum += *p; a pointer goes round.
  void Walk() {
    BlockId loop = ir::AddBlock(*f_), out = ir::AddBlock(*f_);
    ValueId start = Address(data_, tid_, 4), limit = And(Pick(2) ? lane_ : n_, 7);
    ValueId step = Address(At().Const(Type::kI64, 0), ntid_, 4);
    std::vector<ValueId> args = variables_;
    args.insert(args.end(), {start, Number(0)});
    At().Br(loop, args);
    Continue(loop);
    ValueId pointer = ir::AddParam(*f_, loop, Type::kI64), counter = ir::AddParam(*f_, loop, Type::kI32);
    size_t sum = Pick(kVariables);
    variables_[sum] = Add(variables_[sum], At().Load(Type::kI32, Space::kGlobal, pointer));
    args = variables_;
    args.insert(args.end(), {At().Binary(Opcode::kAdd, Type::kI64, pointer, step), Add(counter, Number(1))});
    At().CondBr(At().Icmp(Compare::kUlt, args.back(), limit), {loop, args}, {out, variables_});
    Continue(out);
  }

  // for (i = an index at an edge; trips--; i += step) sum += input[i + distance]; a distance of some lanes
  // may be another one, and a trip may change the index otherwise.
  void WalkAlongEdge() {
    BlockId loop = ir::AddBlock(*f_), out = ir::AddBlock(*f_);
    ValueId start = Clamped(), limit = And(Pick(2) ? lane_ : n_, 7), step = Number(Pick(3));
    ValueId distance = At().Select(Condition(), Number(Pick(2)), Number(0));
    const bool turns = Pick(4) == 0, moves = Pick(2) == 0;
    std::vector<ValueId> args = variables_;
    args.insert(args.end(), {start, Number(0)});
    At().Br(loop, args);
    Continue(loop);
    ValueId index = ir::AddParam(*f_, loop, Type::kI32), counter = ir::AddParam(*f_, loop, Type::kI32);
    size_t sum = Pick(kVariables);
    ValueId at = Address(data_, moves ? Add(index, distance) : index, 4);
    variables_[sum] = Add(variables_[sum], At().Load(Type::kI32, Space::kGlobal, at));
    ValueId next = turns ? At().Select(Condition(), index, start) : Add(index, step);
    args = variables_;
    args.insert(args.end(), {next, Add(counter, Number(1))});
    At().CondBr(At().Icmp(Compare::kUlt, args.back(), limit), {loop, args}, {out, variables_});
    Continue(out);
  }

  std::mt19937_64 random_;
  Blocks blocks_;
  ir::Module module_;
  ir::Function* f_ = nullptr;
  BlockId here_;
  uint32_t line_ = 0;
  bool ended_ = false;    // control does not continue from here_
  bool strided_ = false;  // a thread's words lie together, else those of all threads
  bool apart_ = false;    // with accesses that only single lanes can make
  std::vector<ValueId> variables_;
  std::vector<Around> loops_;
  ValueId data_, n_, tid_, ntid_, lane_, tile_, own_data_, step_data_, own_tile_, step_tile_;
};

}  // namespace

ir::Module LaneKernel(uint64_t seed, Blocks blocks) { return Generator(seed, blocks).Make(); }

}  // namespace ptx2cpu::llvm_test
