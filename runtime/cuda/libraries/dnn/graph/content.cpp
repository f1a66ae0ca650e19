#include "runtime/cuda/libraries/dnn/graph/content.h"

#include <algorithm>

#include "runtime/cuda/libraries/dnn/graph/status.h"

namespace ptx2cpu::cudnn {

namespace {

enum class Use : uint8_t { kRequired, kOptional, kComputed, kWritten };
struct AttributeRow {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t most;
  Use use;
};
constexpr AttributeRow kAttributes[] = {
#define ATTRIBUTE(descriptor, name, number, type, most, use) \
  {CUDNN_BACKEND_##descriptor##_DESCRIPTOR, CUDNN_ATTR_##name, CUDNN_TYPE_##type, most, Use::k##use},
#include "runtime/cuda/abi/cudnn_backend.def"
};
const AttributeRow* RowOf(cudnnBackendDescriptorType_t descriptor, cudnnBackendAttributeName_t name) {
  const auto* row = std::ranges::find(kAttributes, name, &AttributeRow::name);
  return row == std::end(kAttributes) || row->descriptor != descriptor ? nullptr : row;
}

struct TypeRow {
  cudnnBackendAttributeType_t type;
  size_t bytes;
};
constexpr TypeRow kTypes[] = {
#define VALUE(name, number, bytes) {CUDNN_TYPE_##name, bytes},
#include "runtime/cuda/abi/cudnn_backend.def"
};
size_t BytesOf(cudnnBackendAttributeType_t type) {
  return std::ranges::find(kTypes, type, &TypeRow::type)->bytes;
}

struct DescriptorRow {
  cudnnBackendDescriptorType_t type;
  const char* name;
};
constexpr DescriptorRow kDescriptors[] = {
#define DESCRIPTOR(name, number) {CUDNN_BACKEND_##name##_DESCRIPTOR, #name},
#include "runtime/cuda/abi/cudnn_backend.def"
};

// Floats as doubles.
std::vector<char> Widened(const void* elements, int64_t count) {
  std::vector<char> bytes(static_cast<size_t>(count) * sizeof(double));
  for (size_t n = 0; n < static_cast<size_t>(count); ++n) {
    const double wide = static_cast<const float*>(elements)[n];
    std::memcpy(&bytes[n * sizeof wide], &wide, sizeof wide);
  }
  return bytes;
}

// The seed is a number or a tensor.
bool Accepts(const AttributeRow& row, cudnnBackendAttributeType_t type) {
  return row.type == type || (row.type == CUDNN_TYPE_DOUBLE && type == CUDNN_TYPE_FLOAT) ||
         (row.name == CUDNN_ATTR_OPERATION_RNG_SEED && type == CUDNN_TYPE_BACKEND_DESCRIPTOR);
}

// Another descriptor's is wrong; what no descriptor here has may be of a later version.
cudnnStatus_t NoSuchAttribute(cudnnBackendAttributeName_t name) {
  const bool known = std::ranges::find(kAttributes, name, &AttributeRow::name) != std::end(kAttributes);
  return known ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_NOT_SUPPORTED;
}

}  // namespace

const char* NameOf(cudnnBackendDescriptorType_t type) {
  const auto* row = std::ranges::find(kDescriptors, type, &DescriptorRow::type);
  return row == std::end(kDescriptors) ? nullptr : row->name;
}

const Content::Held* Content::Find(cudnnBackendAttributeName_t name) const {
  const auto held = std::ranges::find(held_, name, &Held::name);
  return held == held_.end() ? nullptr : &*held;
}
Content::Held& Content::Place(cudnnBackendAttributeName_t name) {
  const auto held = std::ranges::find(held_, name, &Held::name);
  return held != held_.end() ? *held : held_.emplace_back(Held{name});
}

cudnnStatus_t Content::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                           const void* elements) {
  const AttributeRow* row = RowOf(type_, name);
  if (row == nullptr) return NoSuchAttribute(name);
  if (row->use == Use::kComputed) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!Accepts(*row, type)) return WrongType();
  if (count <= 0 || count > row->most || elements == nullptr) return CUDNN_STATUS_BAD_PARAM;
  Held held{name};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (int64_t n = 0; n < count; ++n) {
      const auto* given = static_cast<const cudnnBackendDescriptor_t*>(elements)[n];
      if (given == nullptr || !given->content->finalized) return CUDNN_STATUS_BAD_PARAM;
      held.links.push_back(given->content);
    }
  } else if (type == row->type) {
    const auto* bytes = static_cast<const char*>(elements);
    held.bytes.assign(bytes, bytes + static_cast<size_t>(count) * BytesOf(type));
  } else {
    held.bytes = Widened(elements, count);
  }
  Place(name) = std::move(held);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t Content::Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t wanted,
                           int64_t* count, void* elements) const {
  const AttributeRow* row = RowOf(type_, name);
  if (row == nullptr) return NoSuchAttribute(name);
  if (!Accepts(*row, type)) return WrongType();
  if (wanted < 0) return CUDNN_STATUS_BAD_PARAM;
  if (row->use == Use::kWritten) return CUDNN_STATUS_NOT_SUPPORTED;
  const Held* held = Find(name);
  if (held == nullptr && row->use == Use::kRequired) return CUDNN_STATUS_BAD_PARAM;
  const size_t bytes = BytesOf(row->type);
  const size_t found = held == nullptr       ? 0
                       : held->links.empty() ? held->bytes.size() / bytes
                                             : held->links.size();
  const size_t given = std::min(found, static_cast<size_t>(wanted));
  // As recorded, the count of values is the number written; the count of descriptors, which a program queries
  // first, is the number that exists.
  const bool counts_written = elements != nullptr && row->type != CUDNN_TYPE_BACKEND_DESCRIPTOR;
  if (count != nullptr) *count = static_cast<int64_t>(counts_written ? given : found);
  if (elements == nullptr) return CUDNN_STATUS_SUCCESS;
  for (size_t n = 0; n < given; ++n) {
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
      auto* to = static_cast<cudnnBackendDescriptor_t*>(elements)[n];
      if (to == nullptr || to->content->type() != held->links[n]->type()) return CUDNN_STATUS_BAD_PARAM;
      to->content =
          std::const_pointer_cast<Content>(held->links[n]);  // finalized: nothing changes it any more
    } else if (type == row->type) {
      std::memcpy(static_cast<char*>(elements) + n * bytes, held->bytes.data() + n * bytes, bytes);
    } else {
      double wide;
      std::memcpy(&wide, held->bytes.data() + n * bytes, bytes);
      static_cast<float*>(elements)[n] = static_cast<float>(wide);
    }
  }
  return CUDNN_STATUS_SUCCESS;
}

bool Content::HasAllRequired() const {
  return std::ranges::all_of(kAttributes, [&](const AttributeRow& row) {
    return row.descriptor != type_ || row.use != Use::kRequired || Has(row.name);
  });
}

Link Content::Part(cudnnBackendAttributeName_t name) const {
  const Held* held = Find(name);
  return held == nullptr || held->links.empty() ? nullptr : held->links.front();
}
std::vector<Link> Content::Parts(cudnnBackendAttributeName_t name) const {
  const Held* held = Find(name);
  return held == nullptr ? std::vector<Link>{} : held->links;
}

}  // namespace ptx2cpu::cudnn
