// Textures and surfaces for the lanes of a warp at once.
#include "ir/image.h"
#include "lowering/llvm/emit/linear_texture.h"
#include "lowering/llvm/emit/surface_address.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

namespace image = ir::image;
using ir::ValueId;
using Value = llvm::Value*;

Status LaneTextures::EmitSurfaceAddresses(const ir::Inst& inst, const Mask& mask) {
  const ValueId result = inst.results[0];
  e.values.ForgetSequence(result);
  auto coordinate = [&](size_t number) { return Vector(e.values.Get(inst.operands[number])); };
  Value address = SurfaceAddress(e, e.values.Get(inst.operands[0]), inst.attrs.index)
                      .Of(coordinate(1), coordinate(2), coordinate(3));
  Value bad = b.CreateAnd(Bits(mask), Bits({b.CreateICmpEQ(address, Literal(address, 1))}));
  Value lane = AsLane(b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bad, b.getFalse()));
  e.body.Fault(NonZero(bad), PTX2CPU_FAULT_MISALIGNED, b.CreateAdd(e.step->thread, lane), inst.at);
  e.values.SetShaped(result, {address, nullptr, nullptr});
  return {};
}

Status LaneTextures::EmitTextures(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) e.values.ForgetSequence(result);
  Value handle = e.values.Get(inst.operands[0]), sampler = e.values.Get(inst.operands[1]);
  if (sampler->getType()->isVectorTy()) return v.one_by_one.EmitEachLane(inst, mask);
  auto call = [&] { return CallTextures(inst, mask); };
  if (handle->getType()->isVectorTy() || !LinearTexture::MayRead(inst.attrs.index)) return call();
  LinearTexture texture(e, handle);
  const ShapedValue texel = e.values.Shaped(inst.operands[2]);
  auto load = [&] {
    Value inside = b.CreateAnd(Vector(texture.IsInside(texel.value)), mask.lanes);
    auto apart = [&] {
      GatherTexels(inst, texture, inside);
      return Status{};
    };
    if (texel.first == nullptr || ShapeOf(inst.operands[2]).stride != 1) return apart();
    Value row = texture.HasOneChannel();
    return v.partings.Choose(
        texel.holds == nullptr ? row : b.CreateAnd(row, texel.holds),
        [&] {
          LoadTexelRow(inst, texture.Address(texel.first), inside);
          return Status{};
        },
        apart, inst.results);
  };
  return v.partings.Choose(texture.Holds(), load, call, inst.results);
}

void LaneTextures::GatherTexels(const ir::Inst& inst, LinearTexture& texture, Value inside) {
  llvm::Type* type = VectorOf(b.getInt32Ty());
  Value first = texture.Address(Vector(e.values.Get(inst.operands[2])));
  for (uint32_t i = 0; i < image::kChannels; ++i) {
    Value has = b.CreateSelect(texture.HasChannel(i), inside, Empty().lanes);
    auto* load = b.CreateMaskedGather(type, b.CreateConstGEP1_64(b.getInt32Ty(), first, i), llvm::Align(4),
                                      has, llvm::Constant::getNullValue(type));
    e.m.Annotate(load, Memory::kGlobal);
    e.values.SetShaped(inst.results[i], {load, nullptr, nullptr});
  }
}

// Loads texels of one channel that are side by side.
void LaneTextures::LoadTexelRow(const ir::Inst& inst, Value first, Value inside) {
  llvm::Constant* zeros = llvm::Constant::getNullValue(VectorOf(b.getInt32Ty()));
  auto* load = b.CreateMaskedLoad(zeros->getType(), first, llvm::Align(4), inside, zeros);
  e.m.Annotate(load, Memory::kGlobal);
  for (uint32_t i = 0; i < image::kChannels; ++i)
    e.values.SetShaped(inst.results[i], {i == 0 ? static_cast<Value>(load) : zeros, nullptr, nullptr});
}

// Operands and results in arrays of 32.
Status LaneTextures::CallTextures(const ir::Inst& inst, const Mask& mask) {
  const size_t count = inst.operands.size() - 2;
  Value texture = e.values.Get(inst.operands[0]), sampler = e.values.Get(inst.operands[1]);
  const llvm::Align align(64);
  Value words = e.body.Scratch(b.getInt32Ty(), image::kMaxWords * kWarpSize),
        result = e.body.Scratch(b.getInt32Ty(), image::kChannels * kWarpSize);
  auto row = [&](Value array, size_t number) {
    return b.CreateConstGEP1_64(b.getInt32Ty(), array, number * kWarpSize);
  };
  for (size_t i = 0; i < count; ++i)
    b.CreateAlignedStore(Vector(e.values.Get(inst.operands[i + 2])), row(words, i), align);
  Value lanes = b.CreateZExtOrTrunc(Bits(mask), b.getInt32Ty()), fetch = b.getInt32(inst.attrs.index);
  if (texture->getType()->isVectorTy()) {
    Value textures = e.body.Scratch(b.getInt64Ty(), kWarpSize);
    b.CreateAlignedStore(texture, textures, align);
    b.CreateCall(e.m.Service("ptx2cpu_texture_fetch_each"), {textures, sampler, fetch, lanes, words, result});
  } else {
    Value pointer = b.CreateIntToPtr(texture, b.getPtrTy());
    b.CreateCall(e.m.Service("ptx2cpu_texture_fetch_lanes"), {pointer, sampler, fetch, lanes, words, result});
  }
  for (size_t i = 0; i < image::kChannels; ++i)
    e.values.SetShaped(inst.results[i], {b.CreateAlignedLoad(VectorOf(b.getInt32Ty()), row(result, i), align),
                                         nullptr, nullptr});
  return {};
}

}  // namespace ptx2cpu::lowering
