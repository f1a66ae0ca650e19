#include "runtime/engine/kernel_source.h"

#include <algorithm>

#include "runtime/engine/contained.h"
#include "runtime/engine/cooperative_groups.h"
#include "runtime/engine/text_lines.h"
#include "runtime/engine/translator_object.h"

namespace ptx2cpu::rt {

KernelSource::KernelSource(std::vector<PtxText> texts) : texts_(WithCooperativeGroups(std::move(texts))) {
  CHECK(!texts_.empty(), "a module without text");
}

const ptx::Outline* KernelSource::TheOutline() {
  std::call_once(outlined_, [&] {
    if (texts_.size() == 1) outline_ = ptx::Outline::Of(texts_[0].text);
  });
  return outline_ ? &*outline_ : nullptr;
}

namespace {

// A single text may have symbols that the caller provides.
Result<Parsed> Parse(std::string text, const std::string& name) {
  const lowering::Translator* translator = TRY(TheTranslator());
  return Contained([&] { return translator->Parse({std::move(text), name}); });
}

}  // namespace

Result<Parsed> KernelSource::Whole() {
  return whole_.Get([&]() -> Result<Parsed> {
    if (texts_.size() == 1) return Parse(texts_[0].text, texts_[0].name);
    const lowering::Translator* translator = TRY(TheTranslator());
    std::vector<lowering::PtxSource> sources;
    for (const PtxText& text : texts_) sources.push_back({text.text, text.name});
    return Contained([&] { return translator->Link(std::move(sources)); });
  });
}

std::optional<std::vector<uint32_t>> KernelSource::ItemsFor(std::string_view kernel) {
  const ptx::Outline* outline = TheOutline();
  if (outline == nullptr || !outline->HasKernel(kernel)) return std::nullopt;
  std::vector<uint32_t> items = outline->Reach(kernel);
  // A call through a pointer may reach a function that only other kernels, or variables, name.
  const auto calls_pointers = [&](uint32_t item) {
    return outline->items()[item].text.find(".callprototype") != std::string_view::npos;
  };
  if (std::ranges::any_of(items, calls_pointers)) return std::nullopt;
  return items;
}

Result<Parsed> KernelSource::PartFor(std::string_view kernel) {
  const auto items = ItemsFor(kernel);
  return items ? Parse(TheOutline()->TextOf(*items), texts_[0].name) : Whole();
}

Result<Parsed> KernelSource::PartForVariables() {
  const ptx::Outline* outline = TheOutline();
  return outline == nullptr ? Whole() : Parse(outline->TextOf(outline->ReachOfVariables()), texts_[0].name);
}

FaultPlace KernelSource::Locate(uint32_t line) {
  FaultPlace place;
  const PtxText* text = &texts_[0];
  if (texts_.size() == 1) {
    place.file = text->name;
    place.line = line;
    place.excerpt = LineOf(text->text, line);
  } else if (const auto whole = Whole()) {  // numbers continue from text to text
    auto found = (*whole)->PlaceOf(line);
    place = {found.at.file, found.at.line, std::move(found.excerpt), {}, 0};
    const auto named = std::ranges::find(texts_, place.file, &PtxText::name);
    text = named == texts_.end() ? nullptr : &*named;
  } else {
    return place;
  }
  if (text == nullptr) return place;
  if (const auto source = SourceLineAt(text->text, place.line)) {
    place.source_file = source->file;
    place.source_line = source->line;
  }
  return place;
}

bool KernelSource::MayRequireShape() const {
  return std::ranges::any_of(
      texts_, [](const PtxText& text) { return text.text.find(".reqntid") != std::string::npos; });
}

Digest KernelSource::Content() const {
  ContentHash hash;
  hash.Add("whole");
  for (const PtxText& text : texts_) hash.Add(text.text);
  return hash.Finish();
}

Digest KernelSource::ContentOf(std::string_view kernel) {
  const auto items = ItemsFor(kernel);
  return items ? ContentOf(*items) : Content();
}

Digest KernelSource::ContentOfVariables() {
  const ptx::Outline* outline = TheOutline();
  return outline == nullptr ? Content() : ContentOf(outline->ReachOfVariables());
}

Digest KernelSource::ContentOf(const std::vector<uint32_t>& items) {
  ContentHash hash;
  hash.Add("part");
  for (const uint32_t number : items) {
    const ptx::OutlineItem& item = TheOutline()->items()[number];
    hash.Add(uint64_t{item.line}).Add(uint64_t{item.column}).Add(item.text);
  }
  return hash.Finish();
}

}  // namespace ptx2cpu::rt
