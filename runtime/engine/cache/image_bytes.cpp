#include "runtime/engine/cache/image_bytes.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace ptx2cpu::rt {

namespace {

// Writes or reads: each structure's fields are listed once, for both.
class Archive {
 public:
  explicit Archive(std::string& out) : out_(&out) {}
  explicit Archive(std::string_view in) : in_(in) {}
  bool complete() const { return good_ && in_.empty(); }

  template <typename... T>
  void Fields(T&... fields) {
    (Field(fields), ...);
  }

  void Field(lowering::KernelImage& image) {
#define KERNEL_FIELD(kind, name, meaning) Field(image.name);
#include "runtime/abi/kernel_fields.def"
    Fields(image.resumes, image.entry, image.variables, image.ptx_name, image.source_files, image.object,
           image.serves_all_shapes);
  }
  void Field(lowering::DeclaredVariables& variables) { Fields(variables.list, variables.images); }
  void Field(lowering::KernelDeclaration& declaration) {
    Fields(declaration.parameters, declaration.max_threads, declaration.required_cluster);
  }

 private:
  void Field(lowering::ParameterRow& row) {
#define PARAMETER_FIELD(kind, name, meaning) Field(row.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Field(lowering::PointRow& row) {
#define POINT_FIELD(kind, name, meaning) Field(row.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Field(lowering::ParameterAlignment& row) {
#define ALIGNMENT_FIELD(kind, name, meaning) Field(row.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Field(lowering::field::Three& values) {
    for (uint32_t& value : values) Field(value);
  }
  // Fields without a value of their own.
  template <typename Empty>
    requires std::is_empty_v<Empty>
  void Field(Empty&) {}

  void Field(lowering::KernelDeclaration::Parameter& p) { Fields(p.offset, p.size); }
  void Field(lowering::DeclaredVariable& v) {
    Fields(v.name, v.size, v.align, v.is_constant, v.is_managed, v.is_extern, v.is_internal);
  }
  void Field(lowering::VariableImage& v) {
    Fields(v.name, v.size, v.align, v.is_extern, v.waits_for_kernel, v.initial, v.addresses);
  }
  void Field(lowering::VariableImage::Address& a) { Fields(a.offset, a.size, a.shift, a.addend, a.symbol); }

  template <std::integral T>
  void Field(T& value) {
    if (out_ == nullptr) {
      value = static_cast<T>(Number());
      return;
    }
    for (int i = 0; i < 8; ++i) *out_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }

  template <typename Bytes>
    requires std::same_as<Bytes, std::string> || std::same_as<Bytes, std::vector<uint8_t>>
  void Field(Bytes& bytes) {
    uint64_t size = bytes.size();
    Field(size);
    if (out_ != nullptr) {
      out_->append(bytes.begin(), bytes.end());
    } else if (size > in_.size()) {
      Refuse();
    } else {
      bytes.assign(in_.begin(), in_.begin() + static_cast<ptrdiff_t>(size));
      in_.remove_prefix(size);
    }
  }

  template <typename Element>
  void Field(std::vector<Element>& list) {
    uint64_t count = list.size();
    Field(count);
    if (out_ == nullptr) {
      if (count > in_.size() / 8) return Refuse();  // each element takes eight bytes or more
      list.resize(count);
    }
    for (Element& element : list) Field(element);
  }

  uint64_t Number() {
    if (in_.size() < 8) {
      Refuse();
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(in_[i])) << (8 * i);
    in_.remove_prefix(8);
    return value;
  }

  void Refuse() {
    good_ = false;
    in_ = {};
  }

  std::string* out_ = nullptr;
  std::string_view in_;
  bool good_ = true;
};

template <typename T>
std::string Written(const T& value) {
  std::string bytes;
  Archive archive(bytes);
  archive.Field(const_cast<T&>(value));  // writing changes nothing
  return bytes;
}

}  // namespace

std::string BytesOf(const lowering::KernelImage& image) { return Written(image); }
std::string BytesOf(const lowering::DeclaredVariables& variables) { return Written(variables); }
std::string BytesOf(const lowering::KernelDeclaration& declaration) { return Written(declaration); }

template <typename T>
std::optional<T> FromBytes(std::string_view bytes) {
  T value;
  Archive archive(bytes);
  archive.Field(value);
  if (!archive.complete()) return std::nullopt;
  return value;
}

template std::optional<lowering::KernelImage> FromBytes(std::string_view bytes);
template std::optional<lowering::DeclaredVariables> FromBytes(std::string_view bytes);
template std::optional<lowering::KernelDeclaration> FromBytes(std::string_view bytes);

}  // namespace ptx2cpu::rt
