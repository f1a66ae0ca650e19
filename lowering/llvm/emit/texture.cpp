// Textures and surfaces: calls of runtime/texture, for one lane or for the lanes of a warp.
#include <cstddef>

#include "ir/image.h"
#include "lowering/llvm/emit/memory.h"
#include "lowering/llvm/lanes/lane_vectors.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using ir::ValueId;
using Value = llvm::Value*;

namespace {

namespace image = ir::image;

static_assert(static_cast<uint32_t>(image::Geometry::kAcube) == PTX2CPU_GEOMETRY_ACUBE);
static_assert(image::kInteger == PTX2CPU_FETCH_INTEGER && image::kLevel == PTX2CPU_FETCH_LEVEL);
static_assert(image::kGradient == PTX2CPU_FETCH_GRADIENT && image::kOffset == PTX2CPU_FETCH_OFFSET);
static_assert(image::kGather == PTX2CPU_FETCH_GATHER && image::kChannelShift == PTX2CPU_FETCH_CHANNEL_SHIFT);
static_assert(image::kClamp == PTX2CPU_ACCESS_CLAMP && image::kSamples == PTX2CPU_ACCESS_SAMPLES);
static_assert(image::kTexels == PTX2CPU_ACCESS_TEXELS && image::kBytesShift == PTX2CPU_ACCESS_BYTES_SHIFT);
static_assert(static_cast<uint32_t>(image::Query::kIsSigned) == PTX2CPU_QUERY_IS_SIGNED);
static_assert(static_cast<uint32_t>(image::Kind::kSurfaceReference) == PTX2CPU_KIND_SURFACE_REFERENCE);
static_assert(image::kSamplerPresent == PTX2CPU_SAMPLER_PRESENT &&
              image::kSamplerLinear == PTX2CPU_SAMPLER_LINEAR);
static_assert(image::kSamplerUnnormalized == PTX2CPU_SAMPLER_UNNORMALIZED);
static_assert(image::kSamplerAddressShift == PTX2CPU_SAMPLER_ADDRESS_SHIFT);
static_assert(static_cast<uint32_t>(image::Address::kBorder) == PTX2CPU_ADDRESS_BORDER);

Value Pointer(Site& s, size_t operand) { return s.b.CreateIntToPtr(s.Raw(operand), s.b.getPtrTy()); }

}  // namespace

Status EmitTexture(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  const size_t count = s.inst.operands.size() - 2;
  Value words = s.e.Scratch(s.e.I(32), image::kMostWords), result = s.e.Scratch(s.e.I(32), image::kChannels);
  for (size_t i = 0; i < count; ++i)
    s.b.CreateAlignedStore(s.Raw(i + 2), s.b.CreateConstGEP1_64(s.e.I(32), words, i), llvm::Align(4));
  s.b.CreateCall(s.e.m.Service("ptx2cpu_texture_fetch"),
                 {Pointer(s, 0), s.Raw(1), s.b.getInt32(s.inst.attrs.index), words, result});
  for (size_t i = 0; i < image::kChannels; ++i)
    s.Return(s.b.CreateAlignedLoad(s.e.I(32), s.b.CreateConstGEP1_64(s.e.I(32), result, i), llvm::Align(4)),
             i);
  return {};
}

Status EmitImageQuery(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  s.Return(s.b.CreateCall(s.e.m.Service("ptx2cpu_image_query"),
                          {s.Raw(0), s.b.getInt32(s.inst.attrs.index), s.Raw(1)}));
  return {};
}

namespace {

// What ptx2cpu_surface_address does, for one lane or, with vectors of coordinates, for a warp's; the handle
// is one.
class SurfaceAddress {
 public:
  SurfaceAddress(FunctionEmitter& e, Value handle, uint32_t access) : e_(e), b_(e.b), access_(access) {
    // An unbound surface is one without texels.
    constexpr size_t kRead =
        offsetof(ptx2cpu_surface, image) + offsetof(ptx2cpu_image, level) + sizeof(ptx2cpu_image_level);
    auto* type = llvm::ArrayType::get(b_.getInt8Ty(), kRead);
    auto* none = new llvm::GlobalVariable(*e.m.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                          llvm::Constant::getNullValue(type));
    none->setAlignment(llvm::Align(8));
    is_unbound_ = b_.CreateICmpEQ(handle, b_.getInt64(0));
    surface_ = b_.CreateSelect(is_unbound_, none, b_.CreateIntToPtr(handle, b_.getPtrTy()));
  }

  // 0: out of range, 1: misaligned.
  Value Of(Value x, Value y, Value z) {
    constexpr uint64_t kChannelBytes = 0x42442211;  // by channel, 4 bits each
    Value one = b_.getInt64(1);
    Value bytes_of_channel = b_.CreateAnd(
        b_.CreateLShr(b_.getInt64(kChannelBytes), b_.CreateShl(Image(offsetof(ptx2cpu_image, channel)), 2)),
        15);
    Value texel = b_.CreateMul(bytes_of_channel, Image(offsetof(ptx2cpu_image, channels)));
    const bool by_texel = (access_ & PTX2CPU_ACCESS_TEXELS) != 0;
    Value bytes = by_texel ? texel : b_.getInt64(access_ >> PTX2CPU_ACCESS_BYTES_SHIFT);
    Value at = Wide(x, true);
    if (by_texel || (access_ & PTX2CPU_ACCESS_SAMPLES) != 0) at = b_.CreateMul(at, Like(at, bytes));
    Value misaligned = b_.CreateICmpNE(b_.CreateAnd(at, Like(at, b_.CreateSub(bytes, one))), Literal(at, 0));
    Value end = b_.CreateAdd(
        b_.CreateSub(b_.CreateMul(Level32(offsetof(ptx2cpu_image_level, width)), texel), bytes), one);
    inside_ = nullptr;
    Value address = b_.CreateAdd(InRange(at, end), Like(at, Level64(offsetof(ptx2cpu_image_level, base))));
    const uint32_t geometry = access_ & PTX2CPU_ACCESS_GEOMETRY;
    if (geometry != PTX2CPU_GEOMETRY_1D && geometry != PTX2CPU_GEOMETRY_A1D)
      address = Step(address, Wide(y, true), Level32(offsetof(ptx2cpu_image_level, height)),
                     offsetof(ptx2cpu_image_level, pitch));
    if (geometry == PTX2CPU_GEOMETRY_3D) {
      address = Step(address, Wide(z, true), Level32(offsetof(ptx2cpu_image_level, depth)),
                     offsetof(ptx2cpu_image_level, slice));
    } else if (geometry > PTX2CPU_GEOMETRY_3D) {  // numbers of layers are unsigned
      address = Step(address, Wide(z, false), Image(offsetof(ptx2cpu_image, layers)),
                     offsetof(ptx2cpu_image_level, slice));
    }
    if (inside_ != nullptr) address = b_.CreateSelect(inside_, address, Literal(address, 0));
    address = b_.CreateSelect(misaligned, Literal(address, 1), address);
    return b_.CreateSelect(is_unbound_, Literal(address, 0), address);
  }

 private:
  // Whoever makes a surface does not change it while a kernel uses it.
  Value Field(size_t offset, llvm::Type* type) {
    auto* load = b_.CreateAlignedLoad(type, b_.CreateConstGEP1_64(b_.getInt8Ty(), surface_, offset),
                                      llvm::Align(type->isIntegerTy(64) ? 8 : 4));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e_.m.context, {}));
    return type->isIntegerTy(64) ? static_cast<Value>(load) : b_.CreateZExt(load, b_.getInt64Ty());
  }
  Value Image(size_t offset) { return Field(offsetof(ptx2cpu_surface, image) + offset, b_.getInt32Ty()); }
  static constexpr size_t kLevel = offsetof(ptx2cpu_surface, image) + offsetof(ptx2cpu_image, level);
  Value Level32(size_t offset) { return Field(kLevel + offset, b_.getInt32Ty()); }
  Value Level64(size_t offset) { return Field(kLevel + offset, b_.getInt64Ty()); }

  Value Like(Value shape, Value scalar) {
    return shape->getType()->isVectorTy() ? Broadcast(b_, scalar, kWarpSize) : scalar;
  }
  Value Wide(Value x, bool is_signed) {
    llvm::Type* type = ShapedLike(x, b_.getInt64Ty());
    return is_signed ? b_.CreateSExt(x, type) : b_.CreateZExt(x, type);
  }

  // With .clamp the nearest number in range; else `inside_` learns whether it is.
  Value InRange(Value number, Value size) {
    Value end = Like(number, size), negative = b_.CreateICmpSLT(number, Literal(number, 0));
    if ((access_ & PTX2CPU_ACCESS_CLAMP) != 0) {
      Value least =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, b_.CreateSub(end, Literal(end, 1)));
      return b_.CreateSelect(negative, Literal(number, 0), least);
    }
    Value fits = b_.CreateAnd(b_.CreateNot(negative), b_.CreateICmpSLT(number, end));
    inside_ = inside_ == nullptr ? fits : Both(inside_, fits);
    return number;
  }
  Value Both(Value a, Value b) {
    if (a->getType() == b->getType()) return b_.CreateAnd(a, b);
    return b_.CreateAnd(Broadcast(b_, a, kWarpSize), Broadcast(b_, b, kWarpSize));
  }
  Value Step(Value address, Value number, Value size, size_t stride) {
    number = InRange(number, size);
    Value bytes = b_.CreateMul(number, Like(number, Level64(stride)));
    if (address->getType() == bytes->getType()) return b_.CreateAdd(address, bytes);
    return b_.CreateAdd(Broadcast(b_, address, kWarpSize), Broadcast(b_, bytes, kWarpSize));
  }

  FunctionEmitter& e_;
  llvm::IRBuilder<>& b_;
  Value is_unbound_, surface_;
  Value inside_ = nullptr;  // null: whatever it is
  uint32_t access_;
};

}  // namespace

Status EmitSurfaceAddress(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  Value address = SurfaceAddress(s.e, s.Raw(0), s.inst.attrs.index).Of(s.Raw(1), s.Raw(2), s.Raw(3));
  s.e.Fault(s.b.CreateICmpEQ(address, s.b.getInt64(1)), PTX2CPU_FAULT_MISALIGNED, s.e.step.thread, s.inst.at);
  s.Return(address);
  return {};
}

Status EmitSurfaceStore(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  s.b.CreateCall(s.e.m.Service("ptx2cpu_surface_store"),
                 {Pointer(s, 0), s.Raw(1), s.Raw(2), s.Raw(3), s.Raw(4), s.Raw(5)});
  return {};
}

// -- the lanes of a warp --

Status LaneVectors::EmitSurfaceAddresses(const ir::Inst& inst, const Mask& mask) {
  const ValueId result = inst.results[0];
  first_[result.index] = holds_[result.index] = nullptr;
  auto coordinate = [&](size_t number) { return Vector(e.ValueOf(inst.operands[number])); };
  Value address = SurfaceAddress(e, e.ValueOf(inst.operands[0]), inst.attrs.index)
                      .Of(coordinate(1), coordinate(2), coordinate(3));
  Value bad =
      b.CreateAnd(Bits(mask), b.CreateBitCast(b.CreateICmpEQ(address, Literal(address, 1)), b.getInt32Ty()));
  Value lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bad, b.getFalse());
  e.Fault(b.CreateICmpNE(bad, b.getInt32(0)), PTX2CPU_FAULT_MISALIGNED, b.CreateAdd(e.step.thread, lane),
          inst.at);
  SetForms(result, {address, nullptr, nullptr});
  return {};
}

// Operands and results in arrays of 32.
Status LaneVectors::EmitTextures(const ir::Inst& inst, const Mask& mask) {
  for (ValueId result : inst.results) first_[result.index] = holds_[result.index] = nullptr;
  const size_t count = inst.operands.size() - 2;
  Value texture = e.ValueOf(inst.operands[0]), sampler = e.ValueOf(inst.operands[1]);
  if (sampler->getType()->isVectorTy()) return EmitEachLane(inst, mask);
  const llvm::Align align(64);
  Value words = e.Scratch(b.getInt32Ty(), image::kMostWords * kWarpSize),
        result = e.Scratch(b.getInt32Ty(), image::kChannels * kWarpSize);
  auto row = [&](Value array, size_t number) {
    return b.CreateConstGEP1_64(b.getInt32Ty(), array, number * kWarpSize);
  };
  for (size_t i = 0; i < count; ++i)
    b.CreateAlignedStore(Vector(e.ValueOf(inst.operands[i + 2])), row(words, i), align);
  Value lanes = Bits(mask), fetch = b.getInt32(inst.attrs.index);
  if (texture->getType()->isVectorTy()) {
    Value textures = e.Scratch(b.getInt64Ty(), kWarpSize);
    b.CreateAlignedStore(texture, textures, align);
    b.CreateCall(e.m.Service("ptx2cpu_texture_fetch_each"), {textures, sampler, fetch, lanes, words, result});
  } else {
    Value pointer = b.CreateIntToPtr(texture, b.getPtrTy());
    b.CreateCall(e.m.Service("ptx2cpu_texture_fetch_lanes"), {pointer, sampler, fetch, lanes, words, result});
  }
  for (size_t i = 0; i < image::kChannels; ++i)
    SetForms(inst.results[i],
             {b.CreateAlignedLoad(VectorOf(b.getInt32Ty()), row(result, i), align), nullptr, nullptr});
  return {};
}

}  // namespace ptx2cpu::lowering
