#include "lowering/load/kernel_descriptor.h"

#include <algorithm>

namespace ptx2cpu::lowering {

namespace {

// Fills a descriptor and its tables, a function for each kind of field.
class Descriptor {
 public:
  explicit Descriptor(DescribedKernel& loaded) : loaded_(loaded) {}

  void Fill() {
    ptx2cpu_kernel& to = loaded_.descriptor;
    const KernelImage& from = loaded_.image;
#define KERNEL_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }

 private:
  void Set(ptx2cpu_parameter& to, const ParameterRow& from) {
#define PARAMETER_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(ptx2cpu_point& to, const PointRow& from) {
#define POINT_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(ptx2cpu_alignment& to, const ParameterAlignment& from) {
#define ALIGNMENT_FIELD(kind, name, meaning) Set(to.name, from.name);
#include "runtime/abi/kernel_fields.def"
  }
  void Set(uint32_t& to, field::Version) { to = PTX2CPU_ABI_VERSION; }
  void Set(uint32_t& to, field::Word from) { to = from; }
  void Set(uint8_t& to, field::Byte from) { to = from; }
  void Set(uint32_t (&to)[3], const field::Three& from) { std::ranges::copy(from, to); }
  void Set(const char*& to, const field::Name& from) { to = from.c_str(); }
  void Set(ptx2cpu_block_function&, field::Block) {}  // known once the object is linked
  void Set(ptx2cpu_step_function&, field::Step) {}
  void Set(uint8_t (&)[2], field::Unused) {}
  void Set(const ptx2cpu_parameter*& to, const field::ParameterTable& from) {
    Table(to, from, loaded_.parameters);
  }
  void Set(const ptx2cpu_point*& to, const field::PointTable& from) { Table(to, from, loaded_.points); }
  void Set(const ptx2cpu_alignment*& to, const field::AlignmentTable& from) {
    Table(to, from, loaded_.alignments);
  }
  void Set(uint32_t& to, field::ParameterCount) {
    to = static_cast<uint32_t>(loaded_.image.parameters.size());
  }
  void Set(uint32_t& to, field::PointCount) { to = static_cast<uint32_t>(loaded_.image.points.size()); }
  void Set(uint32_t& to, field::AlignmentCount) {
    to = static_cast<uint32_t>(loaded_.image.alignments.size());
  }

  template <typename Row, typename From>
  void Table(const Row*& to, const std::vector<From>& from, std::vector<Row>& rows) {
    for (const From& row : from) Set(rows.emplace_back(), row);
    to = rows.empty() ? nullptr : rows.data();
  }

  DescribedKernel& loaded_;
};

}  // namespace

void DescribedKernel::Describe(uint64_t entry) {
  Descriptor(*this).Fill();
  if (image.resumes) {
    descriptor.run_step = reinterpret_cast<ptx2cpu_step_function>(entry);
  } else {
    descriptor.run_block = reinterpret_cast<ptx2cpu_block_function>(entry);
  }
}

}  // namespace ptx2cpu::lowering
