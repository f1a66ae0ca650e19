#include "lowering/passes/load_again.h"

#include <map>

#include "ir/build.h"
#include "ir/result.h"

namespace ptx2cpu::lowering {
namespace {

using ir::BlockId;
using ir::ValueId;

class Again {
 public:
  Again(ir::Function& f, BlockId after) : f_(f), after_(after) {}

  void Run() {
    const std::vector<ir::InstId> insts = f_.at_block(after_).insts;
    for (ir::InstId id : insts) {
      for (size_t n = 0; n < f_.at_inst(id).operands.size(); ++n) {
        const ValueId value = Here(f_.at_inst(id).operands[n]);
        f_.inst(id).operands[n] = value;
      }
      for (size_t e = 0; e < f_.at_inst(id).edges.size(); ++e) {
        for (size_t n = 0; n < f_.at_inst(id).edges[e].args.size(); ++n) {
          const ValueId value = Here(f_.at_inst(id).edges[e].args[n]);
          f_.inst(id).edges[e].args[n] = value;
        }
      }
    }
  }

 private:
  ValueId Here(ValueId value) {
    if (f_.at_value(value).block == after_) return value;
    if (auto it = here_.find(value); it != here_.end()) return it->second;
    const ir::InstId def = f_.at_value(value).def;
    CHECK(def.valid(), "a parameter of warp or block level crosses a suspension");
    ir::Inst inst = f_.at_inst(def);
    const std::vector<ValueId> old = std::move(inst.results);
    inst.results.clear();
    for (ValueId& operand : inst.operands) operand = Here(operand);
    for (ValueId result : old) inst.results.push_back(ir::AddValue(f_, f_.type_of(result), {}, after_, 0));
    const ir::InstId id =
        ir::Insert(f_, after_, front_++, std::move(inst), static_cast<uint32_t>(old.size()));
    for (size_t n = 0; n < old.size(); ++n) here_[old[n]] = f_.at_inst(id).results[n];
    return here_.at(value);
  }

  ir::Function& f_;
  const BlockId after_;
  std::map<ValueId, ValueId> here_;
  size_t front_ = 0;
};

}  // namespace

void LoadAgain(ir::Function& f, BlockId after) { Again(f, after).Run(); }

}  // namespace ptx2cpu::lowering
