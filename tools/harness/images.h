// Textures and surfaces of a call, as runtime/abi/texture.h describes them, made from image arguments.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "runtime/abi/tensor_map.h"
#include "runtime/abi/texture.h"
#include "tools/record/spec.h"

namespace ptx2cpu::harness {

class Images {
 public:
  // One handle per argument, 0 if it is not an image.
  explicit Images(const std::vector<rt::Argument>& arguments);
  Images(const Images&) = delete;

  uint64_t handle(size_t argument) const { return handles_[argument]; }
  // Copies the contents of surfaces and tensors back.
  void Leave(std::vector<rt::Argument>& arguments) const;
  // Everything that a kernel may touch.
  std::vector<std::span<std::byte>> Memory();

 private:
  struct Image {
    ptx2cpu_texture texture{};
    ptx2cpu_surface surface{};
    alignas(128) ptx2cpu_tensor_map map{};
    std::vector<std::vector<std::byte>> levels;
  };
  static void DescribeTensor(const rt::Argument& argument, Image& image);
  static ptx2cpu_image Describe(const rt::Argument& argument, Image& image);

  std::deque<Image> images_;
  std::vector<Image*> image_of_;  // by argument
  std::vector<uint64_t> handles_;
};

}  // namespace ptx2cpu::harness
