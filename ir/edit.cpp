#include "ir/edit.h"

#include <algorithm>
#include <utility>

namespace ptx2cpu::ir {
namespace {

std::vector<BlockId> EachOnce(std::vector<BlockId> blocks) {
  std::ranges::sort(blocks, {}, &BlockId::index);
  const auto repeated = std::ranges::unique(blocks);
  blocks.erase(repeated.begin(), repeated.end());
  return blocks;
}

}  // namespace

void RemoveAll(Function& f, std::span<const InstId> ids) {
  std::vector<BlockId> blocks;
  for (InstId id : ids) {
    const BlockId block = std::exchange(f.inst(id).block, BlockId{});
    if (block.valid()) blocks.push_back(block);
  }
  for (BlockId block : EachOnce(std::move(blocks)))
    std::erase_if(f.block(block).insts, [&](InstId id) { return !f.at_inst(id).block.valid(); });
}

InstId Insertions::Before(InstId place, Inst inst, uint32_t result_count) {
  const BlockId block = f_.at_inst(place).block;
  const InstId id = Append(f_, block, std::move(inst), result_count);
  f_.block(block).insts.pop_back();
  before_[place.index].push_back(id);
  return id;
}

void Insertions::Finish() {
  std::vector<BlockId> blocks;
  for (const auto& [place, made] : before_) blocks.push_back(f_.insts[place].block);
  for (BlockId block : EachOnce(std::move(blocks))) {
    std::vector<InstId> list;
    for (InstId id : f_.block(block).insts) {
      if (const auto made = before_.find(id.index); made != before_.end())
        list.insert(list.end(), made->second.begin(), made->second.end());
      list.push_back(id);
    }
    f_.block(block).insts = std::move(list);
  }
  before_.clear();
}

}  // namespace ptx2cpu::ir
