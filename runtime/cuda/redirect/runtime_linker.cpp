#include "runtime/cuda/redirect/runtime_linker.h"

#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "runtime/cuda/abi/nvjitlink_types.h"
#include "runtime/cuda/redirect/compiler_options.h"
#include "runtime/cuda/redirect/link_session.h"

namespace ptx2cpu::redirect {

using namespace cuda;

namespace {

// The functions of an nvJitLink, in one of the versions that it exports. A program uses one version.
struct Linker {
  NvJitLinkCreate* create = nullptr;
  NvJitLinkDestroy* destroy = nullptr;
  NvJitLinkAddData* add_data = nullptr;
  NvJitLinkAddFile* add_file = nullptr;
  NvJitLinkComplete* complete = nullptr;
  NvJitLinkGetSize* cubin_bytes = nullptr;
  NvJitLinkGetCubin* cubin = nullptr;
  NvJitLinkGetSize* ptx_bytes = nullptr;  // these two are only called
  NvJitLinkGetPtx* ptx = nullptr;
};

constexpr size_t kMaxLinkers = 64;

Places<Linker, kMaxLinkers>& Linkers() {
  static auto* const linkers = new Places<Linker, kMaxLinkers>;
  return *linkers;
}

template <size_t kPlace>
nvJitLinkResult Create(nvJitLinkHandle* handle, uint32_t option_count, const char** options) {
  const Linker& linker = Linkers()[kPlace];
  for (uint32_t i = 0; options != nullptr && i < option_count; ++i) {
    if (options[i] == nullptr) return linker.create(handle, option_count, options);  // the linker's to judge
  }
  const auto changed =
      LinkingToPtx(std::span<const char* const>(options, options == nullptr ? 0 : option_count));
  if (!changed) {
    const nvJitLinkResult result = linker.create(handle, option_count, options);
    if (result == NVJITLINK_SUCCESS) LinkSessions::Get().Set(*handle, std::nullopt);
    return result;
  }
  std::vector<const char*> words = changed->list.Pointers();
  const nvJitLinkResult result = linker.create(handle, static_cast<uint32_t>(words.size()), words.data());
  if (result == NVJITLINK_SUCCESS) LinkSessions::Get().Set(*handle, LinkSession(changed->lto));
  return result;
}

template <size_t kPlace>
nvJitLinkResult Destroy(nvJitLinkHandle* handle) {
  if (handle != nullptr) LinkSessions::Get().Set(*handle, std::nullopt);
  return Linkers()[kPlace].destroy(handle);
}

template <size_t kPlace>
nvJitLinkResult AddData(nvJitLinkHandle handle, nvJitLinkInputType type, const void* data, size_t bytes,
                        const char* name) {
  LinkSession* const session = LinkSessions::Get().Find(handle);
  if (session != nullptr && data != nullptr) {
    const std::string_view content(static_cast<const char*>(data), bytes);
    if (session->Keeps(type, content)) {
      session->Keep(content, name == nullptr ? "" : name);
      return NVJITLINK_SUCCESS;
    }
    session->GaveAway();
  }
  return Linkers()[kPlace].add_data(handle, type, data, bytes, name);
}

template <size_t kPlace>
nvJitLinkResult AddFile(nvJitLinkHandle handle, nvJitLinkInputType type, const char* file) {
  LinkSession* const session = LinkSessions::Get().Find(handle);
  if (session != nullptr && file != nullptr) {
    std::ostringstream content;
    std::ifstream in(file, std::ios::binary);
    if (in && content << in.rdbuf() && session->Keeps(type, content.view())) {
      session->Keep(content.view(), file);
      return NVJITLINK_SUCCESS;
    }
    session->GaveAway();
  }
  return Linkers()[kPlace].add_file(handle, type, file);
}

template <size_t kPlace>
nvJitLinkResult Complete(nvJitLinkHandle handle) {
  const Linker& linker = Linkers()[kPlace];
  LinkSession* const session = LinkSessions::Get().Find(handle);
  if (session == nullptr) return linker.complete(handle);
  std::string ptx;
  if (session->gave_away()) {
    size_t bytes = 0;
    if (const nvJitLinkResult result = linker.complete(handle)) return result;
    if (const nvJitLinkResult result = linker.ptx_bytes(handle, &bytes)) return result;
    ptx.resize(bytes);
    if (const nvJitLinkResult result = linker.ptx(handle, ptx.data())) return result;
  }
  session->Complete(std::move(ptx));
  return NVJITLINK_SUCCESS;
}

template <size_t kPlace>
nvJitLinkResult GetCubinBytes(nvJitLinkHandle handle, size_t* bytes) {
  const LinkSession* const session = LinkSessions::Get().Find(handle);
  if (session == nullptr || session->image().empty() || bytes == nullptr)
    return Linkers()[kPlace].cubin_bytes(handle, bytes);
  *bytes = session->image().size();
  return NVJITLINK_SUCCESS;
}

template <size_t kPlace>
nvJitLinkResult GetCubin(nvJitLinkHandle handle, void* bytes) {
  const LinkSession* const session = LinkSessions::Get().Find(handle);
  if (session == nullptr || session->image().empty() || bytes == nullptr)
    return Linkers()[kPlace].cubin(handle, bytes);
  std::memcpy(bytes, session->image().data(), session->image().size());
  return NVJITLINK_SUCCESS;
}

Linker ReplacementsAt(size_t place) {
  static constexpr auto kAll = []<size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    return std::array<Linker, sizeof...(kPlaces)>{Linker{.create = &Create<kPlaces>,
                                                         .destroy = &Destroy<kPlaces>,
                                                         .add_data = &AddData<kPlaces>,
                                                         .add_file = &AddFile<kPlaces>,
                                                         .complete = &Complete<kPlaces>,
                                                         .cubin_bytes = &GetCubinBytes<kPlaces>,
                                                         .cubin = &GetCubin<kPlaces>}...};
  }(std::make_index_sequence<kMaxLinkers>());
  return kAll[place];
}

// "nvJitLinkCreate" and "" are nvJitLinkCreate, "__nvJitLinkCreate" and "_12_0" are __nvJitLinkCreate_12_0.
struct Version {
  std::string prefix, suffix;
  std::string Name(const char* function) const { return prefix + function + suffix; }
};

std::vector<Version> VersionsOf(const Offering& offering) {
  constexpr std::string_view kPlain = "nvJitLinkCreate", kVersioned = "__nvJitLinkCreate";
  std::vector<Version> versions;
  for (const std::string_view name : offering.Names()) {
    if (name == kPlain) versions.push_back({"nvJitLink", ""});
    if (name.starts_with(kVersioned))
      versions.push_back({"__nvJitLink", std::string(name.substr(kVersioned.size()))});
  }
  return versions;
}

void HookVersion(const Offering& offering, const Version& version, std::vector<Rebinding>& rebindings) {
  Linker own;
  offering.Get(version.Name("Create"), own.create);
  offering.Get(version.Name("Destroy"), own.destroy);
  offering.Get(version.Name("AddData"), own.add_data);
  offering.Get(version.Name("AddFile"), own.add_file);
  offering.Get(version.Name("Complete"), own.complete);
  offering.Get(version.Name("GetLinkedCubinSize"), own.cubin_bytes);
  offering.Get(version.Name("GetLinkedCubin"), own.cubin);
  offering.Get(version.Name("GetLinkedPtxSize"), own.ptx_bytes);
  offering.Get(version.Name("GetLinkedPtx"), own.ptx);
  const bool all = own.create && own.destroy && own.add_data && own.add_file && own.complete &&
                   own.cubin_bytes && own.cubin && own.ptx_bytes && own.ptx;
  const size_t place = all ? Linkers().Take(offering.object()) : kMaxLinkers;
  if (place == kMaxLinkers) return;
  Linkers()[place] = own;
  const Linker ours = ReplacementsAt(place);
  offering.Replace(version.Name("Create"), ours.create, rebindings);
  offering.Replace(version.Name("Destroy"), ours.destroy, rebindings);
  offering.Replace(version.Name("AddData"), ours.add_data, rebindings);
  offering.Replace(version.Name("AddFile"), ours.add_file, rebindings);
  offering.Replace(version.Name("Complete"), ours.complete, rebindings);
  offering.Replace(version.Name("GetLinkedCubinSize"), ours.cubin_bytes, rebindings);
  offering.Replace(version.Name("GetLinkedCubin"), ours.cubin, rebindings);
}

}  // namespace

std::vector<Rebinding> HookRuntimeLinker(const link_map& object) {
  std::vector<Rebinding> rebindings;
  // The first is in 12 only, the second in 13 and late 12.
  for (const char* marker : {"__nvJitLinkCreate_12_0", "nvJitLinkCreate"}) {
    const Offering offering(object, marker);
    if (offering.empty()) continue;
    Linkers().Leave(object);
    for (const Version& version : VersionsOf(offering)) HookVersion(offering, version, rebindings);
    break;
  }
  return rebindings;
}

}  // namespace ptx2cpu::redirect
