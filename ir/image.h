// The forms of the rows Texture and SurfaceAddress: the bits of attrs.index (kImageMode). The numbers are
// those of runtime/abi/texture.h (the emitter checks that).
#pragma once

#include <cstdint>

#include "ir/type.h"

namespace ptx2cpu::ir::image {

enum class Geometry : uint32_t { k1d, k2d, k3d, kA1d, kA2d, kCube, kAcube };

// -- Texture: operands after handle and sampler: layer, coordinates, level or gradients, offsets, where
// present --
inline constexpr uint32_t kInteger = 16;  // coordinates and level are s32, else f32
inline constexpr uint32_t kLevel = 32;
inline constexpr uint32_t kGradient = 64;
inline constexpr uint32_t kOffset = 128;
inline constexpr uint32_t kGather = 256;  // tld4: the channel is at kChannelShift
inline constexpr uint32_t kChannelShift = 12;
inline constexpr uint32_t kMaxWords = 16;
inline constexpr uint32_t kChannels = 4;  // results

// -- SurfaceAddress --
inline constexpr uint32_t kClamp = 16;      // out of range: the nearest place; else address 0
inline constexpr uint32_t kSamples = 32;    // x counts elements of the access's size
inline constexpr uint32_t kTexels = 64;     // x counts texels
inline constexpr uint32_t kBytesShift = 8;  // bytes of the access

// -- ImageQuery --
using Query = ImageQuery;  // attributes.def
enum class Kind : uint32_t { kTextureObject = 1, kTextureReference, kSurfaceObject, kSurfaceReference };

// -- the bits of a .samplerref --
inline constexpr uint64_t kSamplerPresent = 1, kSamplerLinear = 2, kSamplerUnnormalized = 4;
inline constexpr uint32_t kSamplerAddressShift = 4, kSamplerAddressBits = 4;
enum class Address : uint64_t { kWrap, kClamp, kMirror, kBorder };

}  // namespace ptx2cpu::ir::image
