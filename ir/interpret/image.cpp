// Textures and surfaces, through the services that the caller provides.
#include "ir/image.h"

#include <array>

#include "ir/interpret/machine.h"

namespace ptx2cpu::ir::interpret {

namespace {

Result<const ImageServices*> Services(Step& s) {
  if (s.machine.options.images != nullptr) return s.machine.options.images;
  Error error = s.Fault("textures and surfaces are not known here").error();
  error.code = ErrorCode::kUnsupported;
  return Fail(std::move(error));
}

// The struct that a handle points to must be memory that the kernel may read. A null handle is an unbound
// image.
Status CheckHandle(Step& s, uint64_t handle, uint32_t bytes) {
  if (handle != 0) static_cast<void>(TRY(Locate(s, Space::kGeneric, handle, bytes, 8, Access::kRead)));
  return {};
}

}  // namespace

Status ExecuteTexture(Step& s) {
  const ImageServices* services = TRY(Services(s));
  TRY_STATUS(CheckHandle(s, s.Operand64(0), services->texture_bytes));
  std::array<uint32_t, image::kMaxWords> words{};
  std::array<uint32_t, image::kChannels> channels{};
  for (size_t i = 2; i < s.inst.operands.size(); ++i) words[i - 2] = s.Operand32(i);
  services->fetch(s.Operand64(0), s.Operand64(1), s.inst.attrs.index, words.data(), channels.data());
  for (size_t i = 0; i < channels.size(); ++i) s.Return(channels[i], i);
  return {};
}

Status ExecuteImageQuery(Step& s) {
  const ImageServices* services = TRY(Services(s));
  const uint64_t handle = s.Operand64(0);
  const bool is_sampler = (handle & image::kSamplerPresent) != 0;
  if (!is_sampler)
    TRY_STATUS(CheckHandle(s, handle, std::min(services->texture_bytes, services->surface_bytes)));
  s.Return(services->query(handle, static_cast<uint32_t>(s.inst.attrs.query), s.Operand32(1)));
  return {};
}

Status ExecuteSurfaceAddress(Step& s) {
  const ImageServices* services = TRY(Services(s));
  TRY_STATUS(CheckHandle(s, s.Operand64(0), services->surface_bytes));
  const uint64_t address =
      services->address(s.Operand64(0), s.Operand32(1), s.Operand32(2), s.Operand32(3), s.inst.attrs.index);
  if (address == 1) return s.Fault("misaligned access to a surface");
  s.Return(address);
  return {};
}

Status ExecuteSurfaceStore(Step& s) {
  const ImageServices* services = TRY(Services(s));
  TRY_STATUS(CheckHandle(s, s.Operand64(0), services->surface_bytes));
  static_cast<void>(TRY(Locate(s, Space::kGeneric, s.Operand64(1), 1, 1, Access::kWrite)));
  std::array<uint32_t, image::kChannels> channels{};
  for (size_t i = 0; i < channels.size(); ++i) channels[i] = s.Operand32(i + 2);
  services->store(s.Operand64(0), s.Operand64(1), channels.data());
  return {};
}

}  // namespace ptx2cpu::ir::interpret
