#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/guard.h"
#include "ptx-parser/fatbin/printable.h"

namespace ptx2cpu::ptx {
namespace {

constexpr uint32_t kSmPerFamily = 10;  // sm_100 and sm_103 are one family, sm_120 and sm_121 another
constexpr size_t kNearestShown = 3;
constexpr size_t kKernelsCompared = 20000;

std::string Joined(const std::set<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

std::string RebuildHint(const Extraction& extraction, uint32_t sm) {
  const uint32_t target = sm == 0 ? 80 : sm;
  std::string hint = fmt::format(
      "rebuild it with PTX inside, e.g. nvcc -gencode arch=compute_{0},code=compute_{0} (-arch=sm_{0} keeps "
      "both)",
      target);
  if (!extraction.warnings.empty()) hint += "; parts of the file are damaged: see the warnings of extract";
  return hint;
}

// The reason why no image of the file can be translated.
Error NoPtx(const Extraction& extraction, Device device) {
  std::set<std::string> ptx, machine, lto;
  uint32_t lowest = 0;
  for (const Container& container : extraction.containers) {
    for (const Image& image : container.images) {
      using enum Image::Kind;
      if (image.kind == kPtx) ptx.insert(image.Target());
      if (image.kind == kCubin) machine.insert(image.Target());
      if (image.kind == kLtoIr) lto.insert(image.Target());
      if (image.sm != 0 && (lowest == 0 || image.sm < lowest)) lowest = image.sm;
    }
  }
  Error error{.code = ErrorCode::kNoPtx, .message = {}, .at = {.file = extraction.name}};
  if (!ptx.empty()) {
    error.message = fmt::format("no PTX for sm_{}: the file has PTX for {}", device.sm, Joined(ptx));
    error.hint = "choose another device, or none";
  } else if (!machine.empty()) {
    error.message = fmt::format("only machine code for {}, no PTX", Joined(machine));
    if (!lto.empty())
      error.message += fmt::format(" (and LTO IR for {}, which is not PTX either)", Joined(lto));
    error.hint = RebuildHint(extraction, lowest);
  } else if (!lto.empty()) {
    error.message = fmt::format("only LTO IR for {}, no PTX", Joined(lto));
    error.hint = RebuildHint(extraction, lowest) + ", without -dlto";
  } else {
    error.message = "no image of the file is PTX";
    error.hint = RebuildHint(extraction, lowest);
  }
  return error;
}

Result<PtxImage> Load(const Image& image) {
  PtxImage out{.image = &image, .text = TRY(image.Decode()), .options = image.Jit(), .kernels = {}};
  out.kernels = EntryNames(out.text);
  return out;
}

// Levenshtein distance of the two texts, by rows.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] != b[j] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row.back();
}

Error NoSuchKernel(const Extraction& extraction, const std::vector<std::string>& kernels,
                   std::string_view name) {
  constexpr size_t kCompared = 128;  // bytes of a name; more do not help to find a typing error
  std::vector<std::tuple<bool, size_t, std::string_view>> nearest;
  for (std::string_view kernel : std::span(kernels).first(std::min(kernels.size(), kKernelsCompared))) {
    const bool contains = kernel.find(name) != std::string_view::npos;
    nearest.emplace_back(!contains, Distance(kernel.substr(0, kCompared), name.substr(0, kCompared)), kernel);
  }
  const size_t shown = std::min(nearest.size(), kNearestShown);
  std::ranges::partial_sort(nearest, nearest.begin() + static_cast<ptrdiff_t>(shown));
  Error error{.code = ErrorCode::kNotFound,
              .message = fmt::format("no kernel named '{}'", fatbin::Printable(name)),
              .at = {.file = extraction.name},
              .hint = kernels.empty() ? "the file defines no kernel" : "nearest: "};
  for (size_t i = 0; i < shown; ++i) {
    if (i != 0) error.hint += ", ";
    error.hint += fatbin::Printable(std::get<2>(nearest[i]));
  }
  if (kernels.size() > shown) error.hint += fmt::format(" ({} kernels in all)", kernels.size());
  return error;
}

using ChosenImages = std::vector<const Image*>;

// One text at a time is held while looking, so that a library of gigabytes of PTX can be searched for one
// kernel.
Result<std::vector<PtxImage>> WithKernel(const Extraction& extraction, const ChosenImages& chosen,
                                         std::string_view name) {
  std::vector<std::string> all;
  std::vector<std::pair<const Image*, std::vector<std::string>>> defines;
  std::optional<Error> first_failure;
  for (const Image* image : chosen) {
    auto kernels = image->Kernels();
    if (!kernels) {
      if (!first_failure) first_failure = std::move(kernels).error();
      continue;
    }
    all.insert(all.end(), kernels->begin(), kernels->end());
    defines.emplace_back(image, *std::move(kernels));
  }
  const auto kernel = MatchKernel(all, name);
  if (!kernel) {
    // The kernel may be in the image that could not be read, and that is the better error.
    return Fail(first_failure ? *std::move(first_failure) : NoSuchKernel(extraction, all, name));
  }
  const auto home = std::ranges::find_if(defines, [&](const auto& entry) {
    return std::ranges::find(entry.second, *kernel) != entry.second.end();
  });
  CHECK(home != defines.end(), "a matched kernel has an image");
  std::vector<PtxImage> out;
  out.push_back(TRY(Load(*home->first)));
  if (!home->first->relocatable) return out;
  for (const Image* image : chosen) {
    if (image->relocatable && image != home->first) out.push_back(TRY(Load(*image)));
  }
  return out;
}

}  // namespace

bool RunsOn(const Image& image, Device device) {
  if (device.any()) return true;
  if (image.arch_specific) return image.sm == device.sm;
  if (image.family_specific)
    return image.sm <= device.sm && image.sm / kSmPerFamily == device.sm / kSmPerFamily;
  return image.sm <= device.sm;
}

const Image* ChooseImage(const Container& container, Device device) {
  const auto rank = [&](const Image& image) {
    const int specific = image.arch_specific ? 2 : image.family_specific ? 1 : 0;
    // For a given device a closer target is better; for none, a target that needs no certain device.
    const auto sm = static_cast<int64_t>(image.sm);
    const bool sound = image.damage.empty();
    return device.any() ? std::tuple<bool, int64_t, int64_t>(sound, -specific, sm)
                        : std::tuple<bool, int64_t, int64_t>(sound, sm, specific);
  };
  const Image* best = nullptr;
  for (const Image& image : container.images) {
    if (image.kind != Image::Kind::kPtx || !RunsOn(image, device)) continue;
    if (best == nullptr || rank(image) > rank(*best)) best = &image;
  }
  return best;
}

Result<std::vector<PtxImage>> PtxImages(const Extraction& extraction, std::optional<std::string_view> kernel,
                                        Device device) {
  return fatbin::Guarded("loading PTX", [&]() -> Result<std::vector<PtxImage>> {
    ChosenImages chosen;
    for (const Container& container : extraction.containers) {
      if (const Image* image = ChooseImage(container, device)) chosen.push_back(image);
    }
    if (chosen.empty()) return Fail(NoPtx(extraction, device));
    if (kernel) return WithKernel(extraction, chosen, *kernel);
    std::vector<PtxImage> out;
    for (const Image* image : chosen) out.push_back(TRY(Load(*image)));
    return out;
  });
}

std::vector<std::vector<PtxImage>> ByProgram(std::vector<PtxImage> images) {
  std::vector<std::vector<PtxImage>> programs;
  std::optional<size_t> relocatable;
  for (PtxImage& image : images) {
    if (!image.image->relocatable || !relocatable) {
      if (image.image->relocatable) relocatable = programs.size();
      programs.emplace_back();
      programs.back().push_back(std::move(image));
    } else {
      programs[*relocatable].push_back(std::move(image));
    }
  }
  return programs;
}

std::vector<std::string> KernelsOf(std::span<const PtxImage> images) {
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const PtxImage& image : images) {
    for (const std::string& name : image.kernels) {
      if (known.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

}  // namespace ptx2cpu::ptx
