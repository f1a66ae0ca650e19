#include "runtime/engine/cache/image_bytes.h"

#include <concepts>
#include <cstdint>

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
    Fields(image.name, image.entry, image.resumes, image.has_early_exit, image.parameters,
           image.parameter_bytes, image.static_shared_bytes, image.local_bytes, image.slot_bytes_per_thread,
           image.slot_bytes_per_warp, image.slot_bytes_per_block, image.slot_count);
    for (auto* extents : {&image.max_threads, &image.required_threads, &image.required_cluster}) {
      for (uint32_t& extent : *extents) Field(extent);
    }
    Fields(image.points, image.alignments, image.variables, image.ptx_name, image.source_files, image.object);
  }

 private:
  void Field(lowering::KernelImage::Parameter& p) { Fields(p.name, p.offset, p.size, p.align); }
  void Field(lowering::ParameterAlignment& a) { Fields(a.offset, a.addend, a.mask); }
  void Field(lowering::KernelImage::Point& p) { Fields(p.kind, p.collective, p.ptx_line, p.name); }
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

}  // namespace

std::string BytesOf(const lowering::KernelImage& image) {
  std::string bytes;
  Archive archive(bytes);
  archive.Field(const_cast<lowering::KernelImage&>(image));  // writing changes nothing
  return bytes;
}

std::optional<lowering::KernelImage> ImageOf(std::string_view bytes) {
  lowering::KernelImage image;
  Archive archive(bytes);
  archive.Field(image);
  if (!archive.complete()) return std::nullopt;
  return image;
}

}  // namespace ptx2cpu::rt
