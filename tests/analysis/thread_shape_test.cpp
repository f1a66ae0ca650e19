// The lattice of how values differ between threads: against values computed for each thread, and row by row.
#include "analysis/values/thread_shape.h"

#include <catch2/catch.hpp>
#include <random>

#include "analysis/values/thread_transfer.h"
#include "ir/build.h"
#include "tests/analysis/graphs.h"
#include "tests/analysis/random_thread_code.h"
#include "tests/quick.h"

using namespace ptx2cpu;
using namespace ptx2cpu::analysis;
using namespace ptx2cpu::random_thread_code;
using ir::Opcode;
using ir::Type;

namespace {

std::vector<ThreadShape> ShapesOf(const ir::Function& f, const ThreadGroup& group) {
  const ThreadTransfer transfer(f, group);
  std::vector<ThreadShape> shapes(f.values.size());
  for (ir::InstId id : f.at_block(f.entry).insts) {
    const ir::Inst& inst = f.at_inst(id);
    std::vector<ThreadShape> operands;
    for (ir::ValueId operand : inst.operands) operands.push_back(shapes[operand.index]);
    for (size_t n = 0; n < inst.results.size(); ++n)
      shapes[inst.results[n].index] = transfer.Result(inst, n, ir::Level::kLane, operands);
  }
  return shapes;
}

// Lanes that hold these values, the first one first.
bool Holds(const ThreadShape& shape, const std::vector<uint64_t>& lanes, Type type) {
  const uint64_t bits = ir::Bits(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << ir::Bits(type)) - 1;
  if (!shape.varying() && lanes[0] % (1u << shape.align) != 0) return false;
  for (size_t i = 1; i < lanes.size(); ++i) {
    const uint64_t step = (lanes[i] - lanes[i - 1]) & bits;
    if (shape.uniform() && step != 0) return false;
    if (shape.affine() && step != (static_cast<uint64_t>(shape.stride) & bits)) return false;
    if (shape.kind == Uniformity::kStrided && step != ((lanes[1] - lanes[0]) & bits)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("shapes hold for the values that threads compute", "[analysis]") {
  size_t affine = 0, strided = 0, uniform = 0;
  for (uint32_t seed = 1; seed <= test::QuickPart(150u); ++seed) {
    const RandomCode code(seed);
    for (const LaunchShape& shape :
         {LaunchShape{96, 1, 1}, LaunchShape{64, 3, 1}, LaunchShape{16, 4, 2}, LaunchShape{5, 13, 1},
          LaunchShape{32, 1, 3}, LaunchShape{1, 160, 1}, LaunchShape{1, 64, 3}, LaunchShape{1, 5, 9}}) {
      std::vector<std::vector<uint64_t>> threads;
      const uint32_t count = shape.x * shape.y * shape.z;
      for (uint32_t n = 0; n < count; ++n) {
        threads.push_back(code.Run({n % shape.x, n / shape.x % shape.y, n / shape.x / shape.y, n}, shape, 7));
      }
      for (bool guesses : {false, true}) {
        ThreadGroup group = ThreadGroup::WarpOf(shape);
        group.guesses = group.at_once = guesses;
        const std::vector<ThreadShape> shapes = ShapesOf(code.f, group);
        for (uint32_t value = 0; value < shapes.size(); ++value) {
          const ThreadShape& is = shapes[value];
          if (is.guess) continue;  // the code that reads it tests it
          (is.affine() ? affine : is.uniform() ? uniform : strided) += is.kind != Uniformity::kVarying;
          bool holds = true;
          for (uint32_t first = 0; first < count; first += 32) {
            std::vector<uint64_t> lanes;
            for (uint32_t n = first; n < std::min(first + 32, count); ++n) lanes.push_back(threads[n][value]);
            holds &= Holds(is, lanes, code.f.values[value].type);
          }
          for (uint32_t n = 1; n < count && is.kind <= Uniformity::kBlock; ++n)
            holds &= threads[n][value] == threads[0][value];
          INFO("seed " << seed << ", block " << shape.x << "x" << shape.y << "x" << shape.z << ", value "
                       << value);
          CHECK(holds);
        }
      }
    }
  }
  CHECK(affine > test::QuickPart(5000u));
  CHECK(strided > test::QuickPart(500u));
  CHECK(uniform > test::QuickPart(5000u));
}

// 2 * tid + (block & 1), as compilers write it.
TEST_CASE("a field above low bits that are the same in all lanes has a stride", "[analysis]") {
  ir::Function f;
  f.is_kernel = true;
  f.entry = ir::AddBlock(f);
  ir::Builder b{f, f.entry};
  const ir::ValueId tid = b.SpecialRegister(ir::Special::kTidX),
                    block = b.SpecialRegister(ir::Special::kCtaidX), one = b.Const(Type::kI32, 1),
                    rest = b.Const(Type::kI32, 31);
  const ir::ValueId field = b.Inst1(Opcode::kBfi, Type::kI32, {tid, block, one, rest});
  const ir::ValueId low = b.Binary(Opcode::kAnd, Type::kI32, block, one);
  const ir::ValueId sum =
      b.Binary(Opcode::kOr, Type::kI32, b.Binary(Opcode::kShl, Type::kI32, tid, one), low);
  b.Ret();
  ThreadGroup group = ThreadGroup::WarpOf({64, 1, 1});
  group.at_once = true;
  for (const bool guesses : {false, true}) {  // of emission alone
    group.guesses = guesses;
    const std::vector<ThreadShape> shapes = ShapesOf(f, group);
    for (const ir::ValueId value : {field, sum}) {
      CHECK(shapes[value.index].affine() == guesses);
      CHECK(shapes[value.index].stride == (guesses ? 2 : 0));
    }
  }
}

// Groups of every width that emission runs at once: parts of warps, and parts of rows of a block.
TEST_CASE("shapes hold for groups of each width", "[analysis]") {
  using Along = ThreadGroup::Along;
  size_t affine = 0, uniform = 0;
  for (uint32_t seed = 1; seed <= (test::IsQuick() ? 2 : 40); ++seed) {
    const RandomCode code(seed);
    for (const LaunchShape& shape : {LaunchShape{96, 1, 1}, LaunchShape{64, 3, 1}, LaunchShape{16, 4, 2},
                                     LaunchShape{5, 13, 1}, LaunchShape{150, 2, 1}}) {
      for (uint8_t low_bits = 2; low_bits <= 6; ++low_bits) {
        const uint32_t width = 1u << low_bits;
        for (bool rows : {true, false}) {
          if (!rows && width > 32) continue;
          ThreadGroup group = rows ? ThreadGroup{} : ThreadGroup::WarpOf(shape);
          if (rows) group.along = {Along::kConsecutive, Along::kSame, Along::kSame, Along::kAny};
          group.is_warp = !rows;
          group.low_bits = low_bits;
          group.at_once = group.guesses = true;
          const std::vector<ThreadShape> shapes = ShapesOf(code.f, group);
          const uint32_t count = shape.x * shape.y * shape.z, line = rows ? shape.x : count;
          for (uint32_t first = 0; first < count;
               first += first % line + width < line ? width : line - first % line) {
            std::vector<std::vector<uint64_t>> threads;
            for (uint32_t n = first; n < first + width && n / line == first / line && n < count; ++n)
              threads.push_back(
                  code.Run({n % shape.x, n / shape.x % shape.y, n / shape.x / shape.y, n}, shape, 7));
            for (uint32_t value = 0; value < shapes.size(); ++value) {
              const ThreadShape& is = shapes[value];
              if (is.guess) continue;
              affine += is.affine();
              uniform += is.uniform();
              std::vector<uint64_t> lanes;
              for (const std::vector<uint64_t>& thread : threads) lanes.push_back(thread[value]);
              INFO("seed " << seed << ", block " << shape.x << "x" << shape.y << "x" << shape.z << ", width "
                           << width << (rows ? " of a row" : " of a warp") << ", thread " << first
                           << ", value " << value);
              CHECK(Holds(is, lanes, code.f.values[value].type));
            }
          }
        }
      }
    }
  }
  CHECK(affine > (test::IsQuick() ? 200 : 5000));
  CHECK(uniform > (test::IsQuick() ? 200 : 5000));
}

TEST_CASE("the lattice: a join is above both, in any order", "[analysis]") {
  const RandomCode code(1000);
  for (const LaunchShape& launch : {LaunchShape{}, LaunchShape{64, 2, 1}, LaunchShape{0, 1, 1}}) {
    ThreadGroup group = ThreadGroup::WarpOf(launch);
    group.guesses = true;
    std::vector<ThreadShape> shapes = ShapesOf(code.f, group);
    shapes.push_back({});
    shapes.push_back(kVaryingShape);
    for (const ThreadShape& a : shapes) {
      CHECK(Join(a, a, group) == a);
      for (const ThreadShape& b : shapes) {
        const ThreadShape both = Join(a, b, group);
        CHECK(both == Join(b, a, group));
        CHECK(both == Join(both, a, group));
        CHECK(both.kind >= std::max(a.kind, b.kind));
      }
    }
  }
}

TEST_CASE("clamps and choices keep the form as a guess, which is never uniform", "[analysis]") {
  ir::Function f;
  f.is_kernel = true;
  f.entry = ir::AddBlock(f);
  ir::Builder b{f, f.entry};
  const ir::ValueId x = b.SpecialRegister(ir::Special::kTidX), y = b.SpecialRegister(ir::Special::kTidY),
                    block = b.SpecialRegister(ir::Special::kCtaidX), one = b.Const(Type::kI32, 1);
  const ir::ValueId clamped = b.Binary(Opcode::kMinS, Type::kI32, x, block),
                    of_row = b.Binary(Opcode::kMaxU, Type::kI32, y, block),
                    both = b.Binary(Opcode::kMinU, Type::kI32, x, x),
                    chosen = b.Select(b.Icmp(ir::Compare::kUlt, x, block), x,
                                      b.Binary(Opcode::kAdd, Type::kI32, x, one)),
                    mixed = b.Select(b.Icmp(ir::Compare::kUlt, x, block), x, block),
                    wide = b.Convert(Opcode::kSext, Type::kI64, clamped);
  b.Ret();
  ThreadGroup group = ThreadGroup::WarpOf({64, 2, 1});
  group.guesses = group.at_once = true;
  const std::vector<ThreadShape> shapes = ShapesOf(f, group);
  for (ir::ValueId value : {clamped, chosen, wide}) {
    CHECK(shapes[value.index].affine());
    CHECK(shapes[value.index].guess);
    CHECK(shapes[value.index].stride == 1);
    CHECK(shapes[value.index].align == 0);
  }
  CHECK((shapes[of_row.index].uniform() && !shapes[of_row.index].guess));
  CHECK(shapes[both.index].varying());
  CHECK(shapes[mixed.index].varying());
  group.guesses = false;
  CHECK(ShapesOf(f, group)[clamped.index].varying());
}

TEST_CASE("a promised width of the block aligns the blocks of a grid", "[analysis]") {
  ir::Function f;
  f.is_kernel = true;
  f.entry = ir::AddBlock(f);
  ir::Builder b{f, f.entry};
  const ir::ValueId first = b.Binary(Opcode::kMul, Type::kI32, b.SpecialRegister(ir::Special::kCtaidX),
                                     b.SpecialRegister(ir::Special::kNtidX));
  const ir::ValueId thread = b.Binary(Opcode::kAdd, Type::kI32, first, b.SpecialRegister(ir::Special::kTidX));
  const ir::ValueId warp = b.Binary(Opcode::kShrU, Type::kI32, thread, b.Const(Type::kI32, 5));
  b.Ret();
  for (uint32_t width : {256u, 0u, 48u}) {
    f.required_threads[0] = width;
    f.required_threads[1] = f.required_threads[2] = width != 0;
    const std::vector<ThreadShape> shapes = ShapesOf(f, ThreadGroup::WarpOf({256, 1, 1}));
    CHECK(shapes[warp.index].uniform() == (width == 256));
  }
}

TEST_CASE("products with values known at run time keep the form", "[analysis]") {
  ir::Function f;
  f.is_kernel = true;
  f.entry = ir::AddBlock(f);
  ir::Builder b{f, f.entry};
  auto special = [&](ir::Special s) { return b.SpecialRegister(s); };
  ir::ValueId x = special(ir::Special::kTidX), y = special(ir::Special::kTidY),
              n = special(ir::Special::kNtidX);
  ir::ValueId row = b.Binary(Opcode::kMul, Type::kI32, y, n), at = b.Binary(Opcode::kAdd, Type::kI32, row, x);
  ir::ValueId column = b.Binary(Opcode::kMul, Type::kI32, x, n),
              sum = b.Binary(Opcode::kAdd, Type::kI32, column, at);
  b.Ret();
  ThreadGroup group;
  group.along = {ThreadGroup::Along::kConsecutive, ThreadGroup::Along::kSame, ThreadGroup::Along::kSame,
                 ThreadGroup::Along::kAny};
  std::vector<ThreadShape> shapes = ShapesOf(f, group);
  CHECK(shapes[row.index].kind == Uniformity::kWarp);
  CHECK(shapes[at.index].kind == Uniformity::kAffine);
  CHECK(shapes[at.index].stride == 1);
  CHECK(shapes[column.index].kind == Uniformity::kStrided);
  CHECK(shapes[sum.index].kind == Uniformity::kStrided);
  shapes = ShapesOf(f, ThreadGroup{});  // a warp of any block
  CHECK(shapes[at.index].kind == Uniformity::kVarying);
  CHECK(shapes[x.index].axes[kAxisX] == 1);
}

TEST_CASE("a warp is below a bound that is a multiple of its lanes, or is not", "[analysis]") {
  using ir::Compare;
  const auto uniform = [](Compare compare, uint64_t bound, bool first, LaunchShape launch = {256, 1, 1}) {
    ir::Function f;
    f.entry = ir::AddBlock(f);
    ir::Builder b{f, f.entry};
    const ir::ValueId x = b.SpecialRegister(ir::Special::kTidX), c = b.Const(Type::kI32, bound);
    const ir::ValueId is = first ? b.Icmp(compare, x, c) : b.Icmp(compare, c, x);
    return ShapesOf(f, ThreadGroup::WarpOf(launch))[is.index].uniform();
  };
  for (Compare compare : {Compare::kUlt, Compare::kUge, Compare::kSlt, Compare::kSge}) {
    CHECK(uniform(compare, 32, true));
    CHECK(uniform(compare, 31, false));
    CHECK_FALSE(uniform(compare, 31, true));
    CHECK_FALSE(uniform(compare, 32, false));
    CHECK_FALSE(uniform(compare, 32, true, {16, 16, 1}));
    CHECK_FALSE(uniform(compare, 32, true, {0, 0, 0}));
  }
  for (Compare compare : {Compare::kUgt, Compare::kUle, Compare::kSgt, Compare::kSle}) {
    CHECK(uniform(compare, 63, true));
    CHECK(uniform(compare, 64, false));
    CHECK_FALSE(uniform(compare, 64, true));
    CHECK_FALSE(uniform(compare, 63, false));
  }
  CHECK_FALSE(uniform(Compare::kEq, 32, true));
}

TEST_CASE("what a row does across lanes decides, in every analysis", "[analysis]") {
  ir::Function f;
  f.entry = ir::AddBlock(f);
  for (int number = 0; number < static_cast<int>(Opcode::kCount); ++number) {
    const auto op = static_cast<Opcode>(number);
    const ir::OpcodeInfo& info = ir::Info(op);
    if (ir::Info(op).lanes == ir::Lanes::kAlone) {
      CHECK_FALSE((ir::IsCollective(op) || ir::IsBarrier(op)));
      continue;
    }
    ir::Inst inst;
    inst.op = op;
    const std::vector<ThreadShape> same(3, Uniform(Uniformity::kGrid)), differ(3, kVaryingShape);
    INFO(info.mnemonic);
    for (bool at_once : {false, true}) {
      const ThreadGroup group{.at_once = at_once, .forms = !at_once};
      const ThreadTransfer transfer(f, group);
      auto uniform = [&](size_t result, const std::vector<ThreadShape>& operands) {
        return transfer.Result(inst, result, ir::Level::kWarp, operands).uniform();
      };
      switch (ir::Info(op).lanes) {
        case ir::Lanes::kAlone:
          break;
        case ir::Lanes::kMeet:
        case ir::Lanes::kExchange:
          CHECK_FALSE(uniform(0, same));
          break;
        case ir::Lanes::kVote:
          CHECK(uniform(0, same));
          CHECK(uniform(0, differ) == ir::IsBarrier(op));
          break;
        case ir::Lanes::kElect:
          CHECK(uniform(0, same));
          CHECK_FALSE(uniform(1, same));
          break;
        case ir::Lanes::kPresence:
          CHECK(uniform(0, same) == at_once);
          break;
        case ir::Lanes::kAgree:
          CHECK(uniform(0, differ));
          break;
      }
    }
  }
}
