#include "runtime/engine/images.h"

#include <cstring>

#include "ptx-parser/fatbin/fatbin.h"
#include "runtime/engine/linked_image.h"

namespace ptx2cpu::rt {

namespace {

constexpr uint32_t kWrapperMagic = 0x466243B1, kContainerMagic = 0xBA55ED50, kLtoMagic = 0x7F4E43ED;
constexpr size_t kContainerHeader = 16;
constexpr uint64_t kMaxContainerBytes = uint64_t{4} << 30;
constexpr size_t kMaxLinked = 1 << 20;

// The argument of __cudaRegisterFatBinary; version 2 is the result of a device link.
struct Wrapper {
  uint32_t magic, version;
  const void* container;
  const void* const* linked;  // version 2: relocatable containers up to a null, or null
};

template <typename T>
T Read(const void* from, size_t offset = 0) {
  T value;
  std::memcpy(&value, static_cast<const char*>(from) + offset, sizeof value);
  return value;
}

ModuleOptions OptionsOf(const ptx::JitOptions& jit) {
  ModuleOptions options;
  options.contract = jit.fmad;
  return options;
}

std::string NameOf(const std::string& name, const ptx::Image& image) {
  return name + "(" + image.Target() + ")";
}

// The chosen image of a container at an address.
Result<ModuleSource> SourceOfContainer(const void* container, uint32_t sm, const std::string& name) {
  const uint64_t size = Read<uint64_t>(container, 8);
  if (size > kMaxContainerBytes)
    return Fail(ErrorCode::kContainer, name + " states a size of " + std::to_string(size) + " bytes");
  const std::span bytes(static_cast<const std::byte*>(container), kContainerHeader + size);
  const ptx::Extraction extraction = TRY(ptx::Extract(bytes, name));
  std::vector<ptx::PtxImage> images = TRY(ptx::PtxImages(extraction, std::nullopt, {.sm = sm}));
  return ModuleSource{{{std::move(images[0].text), NameOf(name, *images[0].image)}},
                      OptionsOf(images[0].options)};
}

Result<ModuleSource> SourceOfWrapper(const Wrapper& wrapper, uint32_t sm, const std::string& name) {
  auto own = SourceOfContainer(wrapper.container, sm, name);
  if (own || own.error().code != ErrorCode::kNoPtx || wrapper.version != 2 || wrapper.linked == nullptr)
    return own;
  std::vector<const void*> containers;
  for (const void* const* at = wrapper.linked; *at != nullptr && containers.size() < kMaxLinked; ++at)
    containers.push_back(*at);
  if (containers.empty()) return own;
  return SourceOfLinked(containers, sm, name);
}

// "sm_90 ", or nothing if the header has no such number. Its place changed with CUDA 13.
std::string TargetOfMachineCode(const void* elf) {
  constexpr uint16_t kCudaMachine = 190;
  if (Read<uint16_t>(elf, 18) != kCudaMachine) return "";
  const auto version = Read<uint8_t>(elf, 8);
  const uint32_t flags = Read<uint32_t>(elf, 48), sm = (version < 8 ? flags : flags >> 8) & 0xff;
  return sm < 20 ? "" : "sm_" + std::to_string(sm) + " ";
}

bool LooksLikePtx(const char* text) {
  // Comments and blank lines may come first.
  return std::strstr(text, ".version") != nullptr;
}

// All containers of a file that have PTX for the device.
Result<std::vector<ModuleSource>> SourcesOf(const ptx::Extraction& extraction, uint32_t sm,
                                            const std::string& file) {
  std::vector<ptx::PtxImage> images = TRY(ptx::PtxImages(extraction, std::nullopt, {.sm = sm}));
  std::vector<ModuleSource> sources;
  ModuleSource linked;
  for (ptx::PtxImage& image : images) {
    std::string name = file;
    if (extraction.file_kind != ptx::Extraction::FileKind::kPtx) {
      name += "(" + extraction.containers[image.image->container_index].Where() + "," +
              image.image->Target() + ")";
    }
    PtxText text{std::move(image.text), std::move(name)};
    const ModuleOptions options = OptionsOf(image.options);
    if (image.image->relocatable) {
      linked.options.contract &= options.contract;
      linked.texts.push_back(std::move(text));
    } else {
      sources.push_back({{std::move(text)}, options});
    }
  }
  if (!linked.texts.empty()) sources.push_back(std::move(linked));
  return sources;
}

Result<std::vector<ModuleSource>> PartsOfFile(LinkedPart part, uint32_t sm) {
  return SourcesOf(TRY(ptx::ExtractOwned(std::move(part.content), part.name)), sm, part.name);
}

}  // namespace

Result<ModuleSource> SourceOfLinked(std::span<const void* const> containers, uint32_t sm, std::string name) {
  ModuleSource linked;
  for (size_t i = 0; i < containers.size(); ++i) {
    const void* container = containers[i];
    if (Read<uint32_t>(container) == kWrapperMagic) container = Read<Wrapper>(container).container;
    if (Read<uint32_t>(container) != kContainerMagic)
      return Fail(ErrorCode::kContainer,
                  name + ": linked part " + std::to_string(i) + " is not a fat binary");
    Result<ModuleSource> one = SourceOfContainer(container, sm, name + "#" + std::to_string(i));
    // The toolkit's own device library has machine code only; what it defines is part of the runtime here.
    if (!one && one.error().code == ErrorCode::kNoPtx) continue;
    if (!one) return Fail(std::move(one).error());
    linked.options.contract &= one->options.contract;
    linked.texts.push_back(std::move(one->texts[0]));
  }
  if (linked.texts.empty()) return Fail(ErrorCode::kNoPtx, name + " links nothing");
  return linked;
}

Result<ModuleSource> SourceInMemory(const void* image, uint32_t sm, std::string name) {
  const auto* text = static_cast<const char*>(image);
  // Text may be shorter than a magic number.
  if (std::memchr(text, 0, 4) == nullptr) {
    const uint32_t magic = Read<uint32_t>(image);
    if (magic == kWrapperMagic) return SourceOfWrapper(Read<Wrapper>(image), sm, name);
    if (magic == kContainerMagic) return SourceOfContainer(image, sm, name);
    if (std::memcmp(text,
                    "\x7f"
                    "ELF",
                    4) == 0) {
      return Fail(
          Error{.code = ErrorCode::kNoPtx,
                .message = name + " is " + TargetOfMachineCode(image) + "machine code (a cubin), without PTX",
                .hint = "load PTX: compile for compute_XY instead of sm_XY, or run the program with 'ptx2cpu "
                        "exec', which makes NVRTC do so"});
    }
    if (magic == kLtoMagic) {
      return Fail(Error{.code = ErrorCode::kNoPtx,
                        .message = name + " is LTO IR, which only NVIDIA's linker reads",
                        .hint = "compile without -dlto, or link with nvJitLink under 'ptx2cpu exec'"});
    }
    if (LooksLikePtx(text)) return ModuleSource{{{text, std::move(name)}}, {}};
  }
  return Fail(ErrorCode::kUsage, name + " is neither a fat binary nor PTX");
}

Result<std::vector<ModuleSource>> SourcesInFile(const std::filesystem::path& file, uint32_t sm) {
  return SourcesOf(TRY(ptx::ExtractFile(file)), sm, file.string());
}

bool IsDeviceRuntime(std::string_view text) { return text.find("__cuda_syscall_") != std::string_view::npos; }

Result<ModuleSource> SourceOfLinkedImage(const void* image, uint32_t sm) {
  ModuleSource linked;
  for (LinkedPart& part : ReadLinkedImage(image)) {
    if (part.content.find('\0') == std::string::npos) {
      if (!IsDeviceRuntime(part.content))
        linked.texts.push_back({std::move(part.content), std::move(part.name)});
      continue;
    }
    const bool library = part.content.starts_with("!<arch>");
    const auto found = PartsOfFile(std::move(part), sm);
    if (!found && found.error().code == ErrorCode::kNoPtx && library) continue;
    if (!found) return Fail(found.error());
    for (const ModuleSource& source : *found) {
      linked.options.contract &= source.options.contract;
      for (const PtxText& text : source.texts) {
        if (!IsDeviceRuntime(text.text)) linked.texts.push_back(text);
      }
    }
  }
  return linked;
}

}  // namespace ptx2cpu::rt
