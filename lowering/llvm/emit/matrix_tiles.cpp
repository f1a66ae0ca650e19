#include "lowering/llvm/emit/matrix_tiles.h"

#include <algorithm>

#include "lowering/llvm/emit/function_emitter.h"
#include "lowering/llvm/emit/matrix_functions.h"
#include "lowering/llvm/emit/matrix_registers.h"
#include "runtime/abi/matrix.h"

namespace ptx2cpu::lowering {

using ir::Inst;
using ir::ValueId;
using Value = llvm::Value*;
namespace matrix = ir::matrix;

namespace {

constexpr uint32_t kTileBytes = 64;  // of k
// A row has no more: what is prepared stays in the first-level cache.
constexpr uint32_t kMaxTiles = 4;

bool FitsTiles(const matrix::Product& p) {
  const bool of_bytes = p.a == matrix::Element::kS8 || p.a == matrix::Element::kU8 ||
                        p.a == matrix::Element::kS4 || p.a == matrix::Element::kU4;
  return of_bytes && p.rows == 16 && p.combine == matrix::Combine::kProduct && !p.saturates && !p.sparse;
}

std::span<const ValueId> FragmentA(const Inst& product) {
  const matrix::Product p = matrix::DecodeProduct(product.attrs.index);
  return std::span(product.operands).first(p.registers_of_a());
}
std::span<const ValueId> FragmentB(const Inst& product) {
  const matrix::Product p = matrix::DecodeProduct(product.attrs.index);
  return std::span(product.operands).subspan(p.registers_of_a(), p.registers_of_b());
}

template <typename Fragment>
std::vector<ValueId> LineOf(const std::vector<const Inst*>& products, Fragment fragment) {
  std::vector<ValueId> line;
  for (const Inst* product : products) {
    const std::span<const ValueId> values = fragment(*product);
    line.insert(line.end(), values.begin(), values.end());
  }
  return line;
}

size_t TileCount(const MatrixTiles::Group::Part& part) {
  const uint32_t depth = matrix::DecodeProduct(part.products[0]->attrs.index).depth;
  return (part.products.size() * depth + kTileBytes - 1) / kTileBytes;
}

std::string ProductOf(const matrix::Product& p) {
  auto kind = [](matrix::Element element) {
    return matrix::InfoOf(element).is_signed ? std::string("s8") : std::string("u8");
  };
  return "ptx2cpu_matrix_tiles_" + kind(p.a) + "_" + kind(p.b);
}

}  // namespace

void MatrixTiles::Begin(ir::BlockId block) {
  groups_.clear();
  group_of_.clear();
  if (!e_.m.traits.has_byte_tiles) return;
  // By form, mask and number of products: those of a group are at the same places of their chains.
  std::map<std::tuple<uint32_t, uint32_t, size_t>, std::vector<const MatrixSlots::Chain*>> alike;
  for (const MatrixSlots::Chain& chain : e_.matrix_slots.chains()) {
    const Inst& first = *chain.products[0];
    const bool one_mask = std::ranges::all_of(chain.products, [&](const Inst* product) {
      return product->operands.back() == first.operands.back();
    });
    if (!one_mask || !FitsTiles(matrix::DecodeProduct(first.attrs.index))) continue;
    alike[{first.attrs.index, first.operands.back().index, chain.products.size()}].push_back(&chain);
  }
  for (const auto& [key, chains] : alike) Divide(chains, matrix::DecodeProduct(std::get<0>(key)).depth);
  const std::vector<ir::InstId>& insts = e_.f.at_block(block).insts;
  for (ir::InstId id : insts) {
    const Inst& inst = e_.f.at_inst(id);
    const auto group = group_of_.find(&inst);
    if (group != group_of_.end()) groups_[group->second].last = &inst;
  }
}

void MatrixTiles::Divide(const std::vector<const MatrixSlots::Chain*>& chains, uint32_t depth) {
  const size_t length = chains[0]->products.size(), most = kMaxTiles * kTileBytes / depth;
  for (size_t first = 0; first < length; first += most) {
    Group group{{}, nullptr};
    for (const MatrixSlots::Chain* chain : chains) {
      const auto begin = chain->products.begin() + static_cast<ptrdiff_t>(first);
      const auto count = static_cast<ptrdiff_t>(std::min(most, length - first));
      group.parts.push_back({{begin, begin + count}, chain->slots.front()});
      for (const Inst* product : group.parts.back().products) group_of_.emplace(product, groups_.size());
    }
    groups_.push_back(std::move(group));
  }
}

const MatrixTiles::Group* MatrixTiles::GroupOf(const Inst& product) const {
  const auto group = group_of_.find(&product);
  return group == group_of_.end() ? nullptr : &groups_[group->second];
}

Value MatrixTiles::HasTiles() {
  if (has_tiles_ != nullptr) return has_tiles_;
  return has_tiles_ = e_.body.AtEntry([&] {
    Value has_tiles = e_.b.CreateCall(e_.m.Service("ptx2cpu_may_use_tiles"), {e_.body.Block()});
    e_.b.CreateCall(e_.m.Service("ptx2cpu_matrix_tiles_begin"), {has_tiles});
    return has_tiles;
  });
}

void MatrixTiles::End() {
  if (has_tiles_ == nullptr) return;
  for (llvm::BasicBlock& block : *e_.body.function) {
    auto* end = llvm::dyn_cast_or_null<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::IRBuilder<> b(end);
    b.CreateCall(e_.m.Service("ptx2cpu_matrix_tiles_end"), {has_tiles_});
  }
}

Value MatrixTiles::Room(size_t count) {
  const auto known = free_.find(count);
  llvm::AllocaInst* room = nullptr;
  if (known != free_.end()) {
    room = known->second;
    free_.erase(known);
  } else {
    room = e_.body.Scratch(e_.I(8), static_cast<unsigned>(count * PTX2CPU_MATRIX_TILE_BYTES));
  }
  in_use_.emplace(count, room);
  return room;
}

Value MatrixTiles::PlaceOf(const Group::Part& part) { return e_.memory.SlotAddress(part.slot); }

namespace {

// Where the last tile is not full it is zero.
Value NewTiles(Site& s, Value room, const MatrixTiles::Group::Part& part) {
  const matrix::Product p = matrix::DecodeProduct(part.products[0]->attrs.index);
  const size_t count = TileCount(part);
  if (part.products.size() * p.depth == count * kTileBytes) return room;
  Value last = s.b.CreateConstInBoundsGEP1_64(s.b.getInt8Ty(), room, (count - 1) * PTX2CPU_MATRIX_TILE_BYTES);
  s.b.CreateMemSet(last, s.b.getInt8(0), PTX2CPU_MATRIX_TILE_BYTES, llvm::Align(64));
  return room;
}

}  // namespace

Value MatrixTiles::TilesOfA(Site& s, const Group::Part& part, Value is_member) {
  Value& tiles = tiles_of_a_[LineOf(part.products, FragmentA)];
  if (tiles != nullptr) return tiles;
  tiles = NewTiles(s, Room(TileCount(part)), part);
  const uint32_t form = part.products[0]->attrs.index, words = matrix::DecodeProduct(form).depth / 4;
  uint32_t at = 0;
  for (const Inst* product : part.products) {
    const MatrixArrays::Fragment fragment = e_.matrices.Of(FragmentA(*product), is_member);
    s.b.CreateCall(e_.m.Service("ptx2cpu_matrix_tiles_a"),
                   {tiles, fragment.pointer, s.b.getInt32(form), s.b.getInt32(at)});
    at += words;
  }
  return tiles;
}

Value MatrixTiles::TilesOfB(Site& s, const Group::Part& first, const Group::Part* second, Value is_member) {
  std::pair<Line, Line> key{LineOf(first.products, FragmentB), {}};
  if (second != nullptr) key.second = LineOf(second->products, FragmentB);
  Value& tiles = tiles_of_b_[key];
  if (tiles != nullptr) return tiles;
  tiles = NewTiles(s, Room(TileCount(first)), first);
  const uint32_t form = first.products[0]->attrs.index, words = matrix::DecodeProduct(form).depth / 4;
  for (const Group::Part* part : {&first, second}) {
    if (part == nullptr) continue;
    uint32_t at = 0;
    for (const Inst* product : part->products) {
      const MatrixArrays::Fragment fragment = e_.matrices.Of(FragmentB(*product), is_member);
      s.b.CreateCall(e_.m.Service("ptx2cpu_matrix_tiles_b"),
                     {tiles, fragment.pointer, s.b.getInt32(form), s.b.getInt32(at),
                      s.b.getInt32(part == second ? 1 : 0)});
      at += words;
    }
  }
  return tiles;
}

// All tiles before all products: loads of tiles then find what was stored a while ago.
std::vector<MatrixTiles::Call> MatrixTiles::Prepare(Site& s, const Group& group, Value is_member) {
  std::map<Line, std::vector<const Group::Part*>> by_row;
  std::vector<const Line*> rows;
  for (const Group::Part& part : group.parts) {
    const auto [row, is_new] = by_row.try_emplace(LineOf(part.products, FragmentA));
    if (is_new) rows.push_back(&row->first);
    row->second.push_back(&part);
  }
  std::vector<Call> calls;
  for (const Line* line : rows) {
    const std::vector<const Group::Part*>& parts = by_row.at(*line);
    Value a = TilesOfA(s, *parts[0], is_member);
    for (size_t n = 0; n < parts.size(); n += 2) {
      const Group::Part* second = n + 1 < parts.size() ? parts[n + 1] : nullptr;
      Value b = TilesOfB(s, *parts[n], second, is_member);
      auto call = std::ranges::find(calls, b, &Call::b);
      if (call == calls.end()) call = calls.insert(calls.end(), Call{b, {}});
      Value none = llvm::ConstantPointerNull::get(s.b.getPtrTy());
      call->rows.push_back({a, PlaceOf(*parts[n]), second == nullptr ? none : PlaceOf(*second)});
    }
  }
  return calls;
}

Status MatrixTiles::Emit(Site& s, const Group& group) {
  const matrix::Product p = matrix::DecodeProduct(s.inst.attrs.index);
  const Value is_member = IsMember(s, TRY(LanesTaking(s, s.inst.operands.size() - 1)));
  const std::vector<Call> calls = Prepare(s, group, is_member);
  const Value distance = s.b.CreateTrunc(s.b.CreateLShr(e_.memory.WordSlotDistance(), 2), e_.I(32));
  for (const Call& call : calls) {
    llvm::Type* pointer = s.b.getPtrTy();
    const auto count = static_cast<unsigned>(call.rows.size());
    Value rows = e_.body.Scratch(pointer, 3 * count);
    for (unsigned n = 0; n < count; ++n) {
      const Row& row = call.rows[n];
      unsigned at = 3 * n;
      for (Value word : {row.a, row.first, row.second})
        s.b.CreateStore(word, s.b.CreateConstInBoundsGEP1_32(pointer, rows, at++));
    }
    s.b.CreateCall(e_.m.Service(ProductOf(p)),
                   {rows, s.b.getInt32(count), call.b,
                    s.b.getInt32(static_cast<uint32_t>(TileCount(group.parts[0]))), distance, HasTiles()});
  }
  for (const Group::Part& part : group.parts) {
    for (const Inst* product : part.products) {
      e_.matrices.Used(FragmentA(*product));
      e_.matrices.Used(FragmentB(*product));
    }
  }
  e_.matrices.FreeReleased();
  tiles_of_a_.clear();
  tiles_of_b_.clear();
  free_.merge(in_use_);
  return {};
}

}  // namespace ptx2cpu::lowering
