#include "lowering/llvm/emit/surface_address.h"

#include <cstddef>

#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr size_t kLevel = offsetof(ptx2cpu_surface, image) + offsetof(ptx2cpu_image, level);

// What an unbound surface is: one without texels. One for all accesses: LLVM then sees that those of one
// handle load the same fields, and need not look for each of their loads through all that is before it.
llvm::GlobalVariable* NoTexels(llvm::Module& module) {
  constexpr const char* kName = "ptx2cpu.surface_without_texels";  // no name that PTX can have
  if (llvm::GlobalVariable* known = module.getGlobalVariable(kName, true)) return known;
  constexpr size_t kRead =
      offsetof(ptx2cpu_surface, image) + offsetof(ptx2cpu_image, level) + sizeof(ptx2cpu_image_level);
  auto* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module.getContext()), kRead);
  auto* none = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                        llvm::Constant::getNullValue(type), kName);
  none->setAlignment(llvm::Align(8));
  return none;
}

}  // namespace

SurfaceAddress::SurfaceAddress(FunctionEmitter& e, Value handle, uint32_t access)
    : e_(e), b_(e.b), access_(access) {
  is_unbound_ = b_.CreateICmpEQ(handle, b_.getInt64(0));
  surface_ = b_.CreateSelect(is_unbound_, NoTexels(*e.m.module), b_.CreateIntToPtr(handle, b_.getPtrTy()));
}

Value SurfaceAddress::Of(Value x, Value y, Value z) {
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

// The code that creates a surface does not change it while a kernel uses it.
Value SurfaceAddress::Field(size_t offset, llvm::Type* type) {
  auto* load = b_.CreateAlignedLoad(type, b_.CreateConstGEP1_64(b_.getInt8Ty(), surface_, offset),
                                    llvm::Align(type->isIntegerTy(64) ? 8 : 4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e_.m.context, {}));
  return type->isIntegerTy(64) ? static_cast<Value>(load) : b_.CreateZExt(load, b_.getInt64Ty());
}
Value SurfaceAddress::Image(size_t offset) {
  return Field(offsetof(ptx2cpu_surface, image) + offset, b_.getInt32Ty());
}
Value SurfaceAddress::Level32(size_t offset) { return Field(kLevel + offset, b_.getInt32Ty()); }
Value SurfaceAddress::Level64(size_t offset) { return Field(kLevel + offset, b_.getInt64Ty()); }

Value SurfaceAddress::Like(Value shape, Value scalar) {
  return shape->getType()->isVectorTy() ? Broadcast(b_, scalar, e_.step->width) : scalar;
}
Value SurfaceAddress::Wide(Value x, bool is_signed) {
  llvm::Type* type = ShapedLike(x, b_.getInt64Ty());
  return is_signed ? b_.CreateSExt(x, type) : b_.CreateZExt(x, type);
}

// With .clamp the nearest number in range; else `inside_` learns whether it is.
Value SurfaceAddress::InRange(Value number, Value size) {
  Value end = Like(number, size), negative = b_.CreateICmpSLT(number, Literal(number, 0));
  if ((access_ & PTX2CPU_ACCESS_CLAMP) != 0) {
    Value least = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number, b_.CreateSub(end, Literal(end, 1)));
    return b_.CreateSelect(negative, Literal(number, 0), least);
  }
  Value fits = b_.CreateAnd(b_.CreateNot(negative), b_.CreateICmpSLT(number, end));
  inside_ = inside_ == nullptr ? fits : Both(inside_, fits);
  return number;
}
Value SurfaceAddress::Both(Value a, Value b) {
  if (a->getType() == b->getType()) return b_.CreateAnd(a, b);
  return b_.CreateAnd(Broadcast(b_, a, e_.step->width), Broadcast(b_, b, e_.step->width));
}
Value SurfaceAddress::Step(Value address, Value number, Value size, size_t stride) {
  number = InRange(number, size);
  Value bytes = b_.CreateMul(number, Like(number, Level64(stride)));
  if (address->getType() == bytes->getType()) return b_.CreateAdd(address, bytes);
  return b_.CreateAdd(Broadcast(b_, address, e_.step->width), Broadcast(b_, bytes, e_.step->width));
}

}  // namespace ptx2cpu::lowering
