// CUDA arrays. Opaque to programs, plain here: contiguous rows, then contiguous slices or layers,
// so that texture and surface instructions compute addresses and copies are the same as
// between other memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/cuda/abi/driver_types.h"
#include "runtime/cuda/driver/core/handles.h"

namespace ptx2cpu::driver {

class Context;
class MipmappedArray;

// The elements of a format.
struct ElementFormat {
  unsigned channel_bits = 0;
  unsigned channels = 0;  // that the format itself determines; 0: the description has 1, 2 or 4
  unsigned bytes(unsigned described_channels) const { return channel_bits * described_channels / 8; }
};
// channel_bits 0: no format of arrays here (block-compressed and planar video formats are not).
ElementFormat ElementFormatOf(cuda::CUarray_format format);
// Bytes of an element; 0 for a pair that no array can have.
size_t ElementBytes(cuda::CUarray_format format, unsigned channels);

class Array {
 public:
  using Handle = cuda::CUarray;
  static constexpr HandleKind kKind = HandleKind::kArray;

  // With memory of its own. On failure `*made` stays as it was.
  static cuda::CUresult Make(const cuda::CUDA_ARRAY3D_DESCRIPTOR& description, int device, Context* context,
                             std::unique_ptr<Array>* made);
  // A level of a mipmapped array, in its memory.
  Array(const cuda::CUDA_ARRAY3D_DESCRIPTOR& description, std::byte* data, MipmappedArray* whole,
        Context* context);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const cuda::CUDA_ARRAY3D_DESCRIPTOR& description() const { return description_; }
  size_t element_bytes() const { return element_bytes_; }
  size_t row_bytes() const { return description_.Width * element_bytes_; }
  size_t rows() const { return description_.Height == 0 ? 1 : description_.Height; }
  size_t slices() const { return description_.Depth == 0 ? 1 : description_.Depth; }  // or layers, or faces
  size_t slice_bytes() const { return row_bytes() * rows(); }
  size_t bytes() const { return slice_bytes() * slices(); }
  std::byte* data() const { return data_; }
  MipmappedArray* whole() const { return whole_; }  // null: it is not a level
  Context* context() const { return context_; }     // that made it

 private:
  const cuda::CUDA_ARRAY3D_DESCRIPTOR description_;
  const size_t element_bytes_;
  std::byte* const data_;
  MipmappedArray* const whole_;
  Context* const context_;
};

class MipmappedArray {
 public:
  using Handle = cuda::CUmipmappedArray;
  static constexpr HandleKind kKind = HandleKind::kMipmappedArray;

  // `levels` is cut to what the extents allow, at least one.
  static cuda::CUresult Make(const cuda::CUDA_ARRAY3D_DESCRIPTOR& description, unsigned levels, int device,
                             Context* context, std::unique_ptr<MipmappedArray>* made);
  ~MipmappedArray();
  MipmappedArray(const MipmappedArray&) = delete;
  MipmappedArray& operator=(const MipmappedArray&) = delete;

  const cuda::CUDA_ARRAY3D_DESCRIPTOR& description() const { return levels_.front()->description(); }
  unsigned count() const { return static_cast<unsigned>(levels_.size()); }
  // Registered handles as long as the mipmapped array exists. Null beyond count().
  Array* level(unsigned index) const { return index < levels_.size() ? levels_[index].get() : nullptr; }
  std::byte* data() const { return data_; }
  Context* context() const { return context_; }  // that made it

 private:
  MipmappedArray(std::byte* data, size_t bytes, Context* context)
      : data_(data), bytes_(bytes), context_(context) {}

  std::byte* const data_;
  const size_t bytes_;
  Context* const context_;
  std::vector<std::unique_ptr<Array>> levels_;
};

// Success if an array can be made by the description.
cuda::CUresult CheckArray(const cuda::CUDA_ARRAY3D_DESCRIPTOR& description);

}  // namespace ptx2cpu::driver
