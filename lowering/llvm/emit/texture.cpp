// Textures and surfaces: calls of runtime/texture. lanes/textures.cpp has the calls for all lanes of a warp
// at once.
#include <array>
#include <cstddef>

#include "ir/image.h"
#include "lowering/llvm/emit/linear_texture.h"
#include "lowering/llvm/emit/surface_address.h"
#include "runtime/abi/abi.h"

namespace ptx2cpu::lowering {

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

namespace {

using Texel = std::array<Value, image::kChannels>;

Texel CallOfTexture(Site& s) {
  const size_t count = s.inst.operands.size() - 2;
  Value words = s.e.body.Scratch(s.e.I(32), image::kMaxWords),
        result = s.e.body.Scratch(s.e.I(32), image::kChannels);
  for (size_t i = 0; i < count; ++i)
    s.b.CreateAlignedStore(s.Raw(i + 2), s.b.CreateConstGEP1_64(s.e.I(32), words, i), llvm::Align(4));
  s.b.CreateCall(s.e.m.Service("ptx2cpu_texture_fetch"),
                 {Pointer(s, 0), s.Raw(1), s.b.getInt32(s.inst.attrs.index), words, result});
  Texel texel;
  for (size_t i = 0; i < image::kChannels; ++i)
    texel[i] = s.b.CreateAlignedLoad(s.e.I(32), s.b.CreateConstGEP1_64(s.e.I(32), result, i), llvm::Align(4));
  return texel;
}

Texel LoadOfTexture(Site& s, LinearTexture& texture) {
  Value number = s.Raw(2), inside = texture.IsInside(number), address = texture.Address(number);
  Texel texel;
  for (uint32_t i = 0; i < image::kChannels; ++i) {
    Value is_there = i == 0 ? inside : s.b.CreateAnd(inside, texture.HasChannel(i));
    Value from = s.b.CreateSelect(is_there, s.b.CreateConstGEP1_64(s.e.I(32), address, i), texture.Zero());
    auto* load = s.b.CreateAlignedLoad(s.e.I(32), from, llvm::Align(4));
    s.e.m.Annotate(load, Memory::kGlobal);
    texel[i] = load;
  }
  return texel;
}

}  // namespace

Status EmitTexture(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  Texel texel;
  if (LinearTexture::MayRead(s.inst.attrs.index)) {
    LinearTexture texture(s.e, s.Raw(0));
    llvm::BasicBlock *load = s.e.body.NewBlock("linear_texture"), *call = s.e.body.NewBlock("texture"),
                     *done = s.e.body.NewBlock("fetched");
    s.b.CreateCondBr(texture.Holds(), load, call);
    s.b.SetInsertPoint(load);
    const Texel loaded = LoadOfTexture(s, texture);
    s.b.CreateBr(done);
    s.b.SetInsertPoint(call);
    const Texel called = CallOfTexture(s);
    s.b.CreateBr(done);
    s.b.SetInsertPoint(done);
    for (size_t i = 0; i < image::kChannels; ++i) {
      llvm::PHINode* either = s.b.CreatePHI(s.e.I(32), 2);
      either->addIncoming(loaded[i], load);
      either->addIncoming(called[i], call);
      texel[i] = either;
    }
  } else {
    texel = CallOfTexture(s);
  }
  for (size_t i = 0; i < image::kChannels; ++i) s.Return(texel[i], i);
  return {};
}

Status EmitImageQuery(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  s.Return(s.b.CreateCall(s.e.m.Service("ptx2cpu_image_query"),
                          {s.Raw(0), s.b.getInt32(static_cast<uint32_t>(s.inst.attrs.query)), s.Raw(1)}));
  return {};
}

Status EmitSurfaceAddress(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  Value address = SurfaceAddress(s.e, s.Raw(0), s.inst.attrs.index).Of(s.Raw(1), s.Raw(2), s.Raw(3));
  s.e.body.Fault(s.b.CreateICmpEQ(address, s.b.getInt64(1)), PTX2CPU_FAULT_MISALIGNED, s.e.step->thread,
                 s.inst.at);
  s.Return(address);
  return {};
}

Status EmitSurfaceStore(Site& s) {
  if (s.IsVector()) return s.Broken("above lane level");
  s.b.CreateCall(s.e.m.Service("ptx2cpu_surface_store"),
                 {Pointer(s, 0), s.Raw(1), s.Raw(2), s.Raw(3), s.Raw(4), s.Raw(5)});
  return {};
}

}  // namespace ptx2cpu::lowering
