// The lanes of each warp in which a condition holds that is computed from constants and the thread's place
// alone:
//
//   tid.x < 8, blocks of one dimension      lanes 0 to 7 of warp 0, none of others
//   (laneid & 3) == 0, blocks of any shape  lanes 0, 4, .., 28 of each warp
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analysis/values/thread_shape.h"

namespace ptx2cpu::analysis {

class LanesWhere {
 public:
  LanesWhere(const ir::Function& f, LaunchShape shape);

  // By warp: of those lanes that the block has threads for. Null: it depends on something else.
  const std::vector<uint32_t>* Of(ir::ValueId condition);
  // Lanes of the warp that the block has threads for; where its shape is not known, all.
  uint32_t LanesOf(uint32_t warp) const;

 private:
  std::optional<int64_t> ValueOf(ir::ValueId value, uint32_t thread, int depth);
  std::optional<int64_t> SpecialOf(const ir::Inst& inst, uint32_t thread) const;
  std::optional<int64_t> ResultOf(const ir::Inst& inst, uint32_t thread, int depth);

  const ir::Function& f_;
  const LaunchShape shape_;
  uint32_t threads_;     // of a block, or of the largest one
  uint32_t values_ = 0;  // computed for one thread so far
  std::map<uint32_t, std::optional<std::vector<uint32_t>>> found_;
};

}  // namespace ptx2cpu::analysis
