#include "runtime/cuda/cudart/channel.h"

#include <array>

#include "cudart_api.h"

namespace ptx2cpu::cudart {

namespace {

// Formats whose components are given by bits and a kind.
struct Plain {
  cudaChannelFormatKind kind;
  int bits;
  CUarray_format format;
};

constexpr std::array kPlain = std::to_array<Plain>({
    {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
    {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
    {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
    {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
    {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
    {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
    {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
    {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
});

// Normalised formats: the kind determines all.
struct Normalized {
  cudaChannelFormatKind kind;
  int bits;
  unsigned channels;
  CUarray_format format;
};

constexpr std::array kNormalized = std::to_array<Normalized>({
    {cudaChannelFormatKindUnsignedNormalized8X1, 8, 1, CU_AD_FORMAT_UNORM_INT8X1},
    {cudaChannelFormatKindUnsignedNormalized8X2, 8, 2, CU_AD_FORMAT_UNORM_INT8X2},
    {cudaChannelFormatKindUnsignedNormalized8X4, 8, 4, CU_AD_FORMAT_UNORM_INT8X4},
    {cudaChannelFormatKindUnsignedNormalized16X1, 16, 1, CU_AD_FORMAT_UNORM_INT16X1},
    {cudaChannelFormatKindUnsignedNormalized16X2, 16, 2, CU_AD_FORMAT_UNORM_INT16X2},
    {cudaChannelFormatKindUnsignedNormalized16X4, 16, 4, CU_AD_FORMAT_UNORM_INT16X4},
    {cudaChannelFormatKindSignedNormalized8X1, 8, 1, CU_AD_FORMAT_SNORM_INT8X1},
    {cudaChannelFormatKindSignedNormalized8X2, 8, 2, CU_AD_FORMAT_SNORM_INT8X2},
    {cudaChannelFormatKindSignedNormalized8X4, 8, 4, CU_AD_FORMAT_SNORM_INT8X4},
    {cudaChannelFormatKindSignedNormalized16X1, 16, 1, CU_AD_FORMAT_SNORM_INT16X1},
    {cudaChannelFormatKindSignedNormalized16X2, 16, 2, CU_AD_FORMAT_SNORM_INT16X2},
    {cudaChannelFormatKindSignedNormalized16X4, 16, 4, CU_AD_FORMAT_SNORM_INT16X4},
});

cudaChannelFormatDesc Describe(int bits, unsigned channels, cudaChannelFormatKind kind) {
  return {bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind};
}

}  // namespace

cudaError_t FormatOf(const cudaChannelFormatDesc& description, Format& format) {
  const auto [x, y, z, w, kind] = description;
  for (const Normalized& row : kNormalized) {
    if (row.kind != kind) continue;
    format = {row.format, row.channels};
    return cudaSuccess;
  }
  unsigned channels = 0;  // one, two or four: there are no elements of three
  if (y == 0 && z == 0 && w == 0) channels = 1;
  if (y == x && z == 0 && w == 0) channels = 2;
  if (y == x && z == x && w == x) channels = 4;
  for (const Plain& row : kPlain) {
    if (row.kind != kind || row.bits != x || channels == 0) continue;
    format = {row.format, channels};
    return cudaSuccess;
  }
  return cudaErrorInvalidChannelDescriptor;
}

cudaError_t DescriptionOf(const Format& format, cudaChannelFormatDesc& description) {
  for (const Plain& row : kPlain) {
    if (row.format != format.format) continue;
    description = Describe(row.bits, format.channels, row.kind);
    return cudaSuccess;
  }
  for (const Normalized& row : kNormalized) {
    if (row.format != format.format) continue;
    description = Describe(row.bits, row.channels, row.kind);
    return cudaSuccess;
  }
  return cudaErrorInvalidChannelDescriptor;
}

size_t BytesOf(const Format& format) {
  cudaChannelFormatDesc description;
  if (DescriptionOf(format, description) != cudaSuccess) return 0;
  return static_cast<size_t>(description.x + description.y + description.z + description.w) / 8;
}

}  // namespace ptx2cpu::cudart
