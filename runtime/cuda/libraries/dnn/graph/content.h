// The contents of a descriptor of the graph API: its attributes, and its compiled form.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/cuda/abi/cudnn_backend_types.h"

namespace ptx2cpu::cudnn {

using namespace cuda;

struct Program;
class Content;
using Link = std::shared_ptr<const Content>;

// A program, or the reason why there is none.
struct Compiled {
  std::shared_ptr<const Program> program = nullptr;
  std::string why = {};
};

class Content {
 public:
  explicit Content(cudnnBackendDescriptorType_t type) : type_(type) {}

  cudnnBackendDescriptorType_t type() const { return type_; }
  // The status of cudnnBackendSetAttribute; descriptors among the elements must be finalized.
  cudnnStatus_t Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                    const void* elements);
  // The status of cudnnBackendGetAttribute. Descriptors are written into those that `elements` has.
  cudnnStatus_t Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t wanted,
                    int64_t* count, void* elements) const;
  // An attribute that finalizing computed.
  void SetLink(cudnnBackendAttributeName_t name, Link link) { Place(name).links = {std::move(link)}; }
  template <typename T>
  void SetValue(cudnnBackendAttributeName_t name, T value) {
    const auto* bytes = reinterpret_cast<const char*>(&value);
    Place(name).bytes.assign(bytes, bytes + sizeof value);
  }
  bool HasAllRequired() const;

  bool Has(cudnnBackendAttributeName_t name) const { return Find(name) != nullptr; }
  template <typename T>
  T Value(cudnnBackendAttributeName_t name, T otherwise = {}) const {
    const Held* held = Find(name);
    if (held != nullptr && held->bytes.size() >= sizeof(T))
      std::memcpy(&otherwise, held->bytes.data(), sizeof(T));
    return otherwise;
  }
  template <typename T>
  std::vector<T> List(cudnnBackendAttributeName_t name) const {
    const Held* held = Find(name);
    std::vector<T> list(held == nullptr ? 0 : held->bytes.size() / sizeof(T));
    if (!list.empty()) std::memcpy(list.data(), held->bytes.data(), list.size() * sizeof(T));
    return list;
  }
  Link Part(cudnnBackendAttributeName_t name) const;  // null: it has none
  std::vector<Link> Parts(cudnnBackendAttributeName_t name) const;

  bool finalized = false;
  Compiled compiled = {};

 private:
  struct Held {
    cudnnBackendAttributeName_t name;
    std::vector<char> bytes = {};
    std::vector<Link> links = {};
  };
  const Held* Find(cudnnBackendAttributeName_t name) const;
  Held& Place(cudnnBackendAttributeName_t name);

  cudnnBackendDescriptorType_t type_;
  std::vector<Held> held_ = {};
};

// The name of a descriptor or an operation, without what all have in common; null: none that we know.
const char* NameOf(cudnnBackendDescriptorType_t type);

}  // namespace ptx2cpu::cudnn

namespace ptx2cpu::cuda {
struct cudnnBackendStruct {
  std::shared_ptr<cudnn::Content> content;
};
}  // namespace ptx2cpu::cuda
