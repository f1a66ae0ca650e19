// Textures and surfaces for all lanes.
#pragma once

#include "lowering/llvm/lanes/lane_part.h"

namespace ptx2cpu::lowering {

class LinearTexture;

class LaneTextures : LanePart {
 public:
  using LanePart::LanePart;
  Status EmitTextures(const ir::Inst& inst, const Mask& mask);
  Status EmitSurfaceAddresses(const ir::Inst& inst, const Mask& mask);

 private:
  Status CallTextures(const ir::Inst& inst, const Mask& mask);
  void GatherTexels(const ir::Inst& inst, LinearTexture& texture, llvm::Value* inside);
  void LoadTexelRow(const ir::Inst& inst, llvm::Value* first, llvm::Value* inside);
};

}  // namespace ptx2cpu::lowering
