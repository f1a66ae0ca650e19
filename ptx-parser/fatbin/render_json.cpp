#include <fmt/format.h>

#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/json_writer.h"

namespace ptx2cpu::ptx {
namespace {

using fatbin::JsonWriter;

void Field(JsonWriter& json, std::string_view key, std::string_view value) {
  json.Key(key);
  json.String(value);
}

template <std::unsigned_integral T>
void Field(JsonWriter& json, std::string_view key, T value) {
  json.Key(key);
  json.Number(value);
}

// This is not an overload of Field: overload resolution converts a string literal to bool rather than to
// string_view.
void Flag(JsonWriter& json, std::string_view key, bool value) {
  json.Key(key);
  json.Bool(value);
}

void StringsField(JsonWriter& json, std::string_view key, const std::vector<std::string>& values) {
  json.Key(key);
  json.BeginArray();
  for (const std::string& value : values) json.String(value);
  json.EndArray();
}

void WriteJitOptions(JsonWriter& json, const JitOptions& options) {
  json.Key("jit_options");
  json.BeginObject();
  Flag(json, "fmad", options.fmad);
  Flag(json, "compile_only", options.compile_only);
  Flag(json, "debug", options.debug);
  Flag(json, "generate_line_info", options.generate_line_info);
  if (options.maxrregcount) Field(json, "maxrregcount", *options.maxrregcount);
  if (options.opt_level) Field(json, "opt_level", *options.opt_level);
  StringsField(json, "unknown", options.unknown);
  json.EndObject();
}

void WriteImage(JsonWriter& json, const Image& image, const TableOptions& options) {
  json.BeginObject();
  Field(json, "kind", Name(image.kind));
  if (image.kind == Image::Kind::kUnknown) Field(json, "raw_kind", image.raw_kind);
  Field(json, "target", image.Target());
  Field(json, "sm", image.sm);
  if (image.kind == Image::Kind::kPtx) Field(json, "ptx_version", image.PtxVersion());
  Field(json, "offset", image.file_offset);
  Field(json, "flags", fmt::format("0x{:x}", image.flags));
  Field(json, "compression", Name(image.compression));
  Field(json, "stored_size", image.stored_size);
  Field(json, "size", image.size);
  Field(json, "options", image.options);
  if (image.kind == Image::Kind::kPtx) WriteJitOptions(json, image.Jit());
  Field(json, "identifier", image.identifier);
  Flag(json, "relocatable", image.relocatable);
  if (!image.damage.empty()) Field(json, "damage", image.damage);
  if (image.kind == Image::Kind::kPtx && options.kernels) {
    if (const auto kernels = image.Kernels()) {
      StringsField(json, "kernels", *kernels);
    } else {
      Field(json, "error", kernels.error().message);
    }
  }
  json.EndObject();
}

void WriteContainer(JsonWriter& json, const Container& container, const TableOptions& options) {
  json.BeginObject();
  Field(json, "where", container.Where());
  Field(json, "member", container.member);
  Field(json, "section", container.section);
  Field(json, "offset", container.offset);
  Field(json, "size", container.size);
  Field(json, "version", container.version);
  json.Key("images");
  json.BeginArray();
  for (const Image& image : container.images) WriteImage(json, image, options);
  json.EndArray();
  json.EndObject();
}

void WriteWrapper(JsonWriter& json, const Wrapper& wrapper) {
  json.BeginObject();
  Field(json, "offset", wrapper.offset);
  Field(json, "version", wrapper.version);
  json.Key("container");
  if (wrapper.container_index) {
    json.Number(*wrapper.container_index);
  } else {
    json.Null();
  }
  Field(json, "member", wrapper.member);
  json.EndObject();
}

}  // namespace

std::string RenderJson(const Extraction& extraction, const TableOptions& options) {
  JsonWriter json;
  json.BeginObject();
  Field(json, "file", extraction.name);
  Field(json, "kind", Name(extraction.file_kind));
  Field(json, "size", extraction.file_size);
  json.Key("containers");
  json.BeginArray();
  for (const Container& container : extraction.containers) WriteContainer(json, container, options);
  json.EndArray();
  json.Key("wrappers");
  json.BeginArray();
  for (const Wrapper& wrapper : extraction.wrappers) WriteWrapper(json, wrapper);
  json.EndArray();
  json.Key("warnings");
  json.BeginArray();
  for (const Warning& warning : extraction.warnings) {
    json.BeginObject();
    Field(json, "offset", warning.offset);
    Field(json, "message", warning.message);
    json.EndObject();
  }
  json.EndArray();
  Field(json, "warnings_left_out", extraction.warnings_left_out);
  json.EndObject();
  return json.Take();
}

}  // namespace ptx2cpu::ptx
