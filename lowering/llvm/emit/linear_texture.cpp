#include "lowering/llvm/emit/linear_texture.h"

#include <cstddef>

#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

using Value = llvm::Value*;

namespace {
constexpr size_t kImage = offsetof(ptx2cpu_texture, image), kLevel = kImage + offsetof(ptx2cpu_image, level);
}

bool LinearTexture::MayRead(uint32_t fetch) { return fetch == (PTX2CPU_GEOMETRY_1D | PTX2CPU_FETCH_INTEGER); }

// An unbound texture is one with channels of another size.
LinearTexture::LinearTexture(FunctionEmitter& e, Value handle) : e_(e), b_(e.b) {
  static_assert(PTX2CPU_CHANNEL_U8 == 0);
  auto* type = llvm::ArrayType::get(b_.getInt8Ty(), kLevel + sizeof(ptx2cpu_image_level));
  none_ = new llvm::GlobalVariable(*e.m.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                   llvm::Constant::getNullValue(type));
  none_->setAlignment(llvm::Align(8));
  texture_ = b_.CreateSelect(b_.CreateICmpEQ(handle, b_.getInt64(0)), none_,
                             b_.CreateIntToPtr(handle, b_.getPtrTy()));
}

// The code that creates a texture does not change it while a kernel uses it.
Value LinearTexture::Field(size_t offset, llvm::Type* type) {
  auto* load = b_.CreateAlignedLoad(type, b_.CreateConstGEP1_64(b_.getInt8Ty(), texture_, offset),
                                    llvm::Align(type->isIntegerTy(64) ? 8 : 4));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e_.m.context, {}));
  return load;
}

Value LinearTexture::Holds() {
  constexpr uint32_t kWholeWords =
      1u << PTX2CPU_CHANNEL_U32 | 1u << PTX2CPU_CHANNEL_S32 | 1u << PTX2CPU_CHANNEL_F32;
  Value shape = Field(kImage + offsetof(ptx2cpu_image, shape), b_.getInt32Ty());
  Value channel = Field(kImage + offsetof(ptx2cpu_image, channel), b_.getInt32Ty());
  Value whole = b_.CreateTrunc(b_.CreateLShr(b_.getInt32(kWholeWords), channel), b_.getInt1Ty());
  return b_.CreateAnd(b_.CreateICmpEQ(shape, b_.getInt32(PTX2CPU_SHAPE_LINEAR)), whole);
}

Value LinearTexture::HasOneChannel() {
  Value channels = Field(kImage + offsetof(ptx2cpu_image, channels), b_.getInt32Ty());
  return b_.CreateICmpEQ(channels, b_.getInt32(1));
}

Value LinearTexture::HasChannel(uint32_t number) {
  Value channels = Field(kImage + offsetof(ptx2cpu_image, channels), b_.getInt32Ty());
  return b_.CreateICmpUGT(channels, b_.getInt32(number));
}

Value LinearTexture::IsInside(Value texel) {
  Value width = Field(kLevel + offsetof(ptx2cpu_image_level, width), b_.getInt32Ty());
  Value end = texel->getType()->isVectorTy() ? Broadcast(b_, width, e_.step->width) : width;
  return b_.CreateAnd(b_.CreateICmpULT(texel, end), b_.CreateICmpSGE(texel, Literal(texel, 0)));
}

Value LinearTexture::Address(Value texel) {
  Value base = Field(kLevel + offsetof(ptx2cpu_image_level, base), b_.getInt64Ty());
  Value channels = Field(kImage + offsetof(ptx2cpu_image, channels), b_.getInt32Ty());
  Value bytes = b_.CreateShl(b_.CreateZExt(channels, b_.getInt64Ty()), 2);
  Value number = b_.CreateSExt(texel, ShapedLike(texel, b_.getInt64Ty()));
  if (texel->getType()->isVectorTy()) bytes = Broadcast(b_, bytes, e_.step->width);
  return b_.CreateGEP(b_.getInt8Ty(), b_.CreateIntToPtr(base, b_.getPtrTy()), b_.CreateMul(number, bytes));
}

}  // namespace ptx2cpu::lowering
