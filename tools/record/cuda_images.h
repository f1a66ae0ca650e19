// Textures and surfaces on the GPU, made through the CUDA driver API from image arguments of the SPEC
// language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/result.h"
#include "tools/record/spec.h"

namespace ptx2cpu::rt {

// The images of one launch; freed with the object. `library` is libcuda.so.1, its context current.
class DeviceImages {
 public:
  explicit DeviceImages(void* library);
  ~DeviceImages();
  DeviceImages(const DeviceImages&) = delete;

  // Makes the array or memory of an image and its handle; one with a name is bound to that reference of
  // `module`.
  Status Make(const Argument& argument, void* module);
  // The handle of the image made last; it stays where it is.
  uint64_t* handle();
  // Contents of image number `number`, in the order of the SPEC language.
  Result<std::vector<std::byte>> Download(const Argument& argument, size_t number);

 private:
  struct Image;
  struct Functions;
  Status MakeMemory(const Argument& argument, Image& image);
  Status MakeTensor(const Argument& argument, Image& image);
  Status MakeArray(const Argument& argument, Image& image);
  Status CopyArrays(const Image& image, const ImageSpec& spec, std::byte* data, size_t element,
                    bool to_device);
  Status MakeHandle(const Argument& argument, Image& image);
  Status Bind(const Argument& argument, Image& image, void* module);
  std::unexpected<Error> Failed(int status, const char* what) const;

  std::unique_ptr<Functions> functions_;
  std::vector<std::unique_ptr<Image>> images_;
};

}  // namespace ptx2cpu::rt
