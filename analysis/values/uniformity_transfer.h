// One instruction's rule of the uniformity analysis: shape of a result from the shapes of the operands.
#pragma once

#include "analysis/values/uniformity.h"

namespace ptx2cpu::analysis {

class UniformityTransfer {
 public:
  UniformityTransfer(const ir::Function& f, LaunchShape launch) : f_(f), launch_(launch) {}

  ValueShape Result(const ir::Inst& inst, uint32_t number, ir::Level level,
                    const std::vector<ValueShape>& shapes) const;

 private:
  ValueShape SpecialRegister(const ir::Inst& inst) const;
  ValueShape Memory(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const;
  ValueShape Collective(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const;
  ValueShape Pure(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const;
  ValueShape Affine(const ir::Inst& inst, const std::vector<ValueShape>& shapes) const;
  const uint64_t* Constant(ir::ValueId value) const;  // its bits when it is a Const

  const ir::Function& f_;
  LaunchShape launch_;
};

}  // namespace ptx2cpu::analysis
