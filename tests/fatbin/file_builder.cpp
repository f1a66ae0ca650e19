#include "tests/fatbin/file_builder.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zlib.h>
#include <zstd.h>

#include "ir/result.h"

namespace ptx2cpu::fatbin_test {
namespace {

template <typename T>
std::string Little(T value) {
  std::string out;
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
  return out;
}

std::string Padded(std::string text, size_t to) {
  text.resize((text.size() + to - 1) / to * to, '\0');
  return text;
}

std::string Compressed(const std::string& data, uint64_t flags) {
  std::string out;
  if ((flags & kLz4) != 0) {
    out.resize(LZ4_compressBound(static_cast<int>(data.size())));
    const int size = LZ4_compress_default(data.data(), out.data(), static_cast<int>(data.size()),
                                          static_cast<int>(out.size()));
    CHECK(size > 0, "LZ4 compresses");
    out.resize(static_cast<size_t>(size));
  } else {
    out.resize(ZSTD_compressBound(data.size()));
    const size_t size = ZSTD_compress(out.data(), out.size(), data.data(), data.size(), 3);
    CHECK(!ZSTD_isError(size), "zstd compresses");
    out.resize(size);
  }
  return out;
}

std::string MemberHeader(std::string_view name, size_t size) {
  return fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, "100644", size);
}

std::string Even(std::string data) {
  if (data.size() % 2 != 0) data += '\n';
  return data;
}

}  // namespace

std::string U16(uint16_t value) { return Little(value); }
std::string U32(uint32_t value) { return Little(value); }
std::string U64(uint64_t value) { return Little(value); }

void Patch(std::string& bytes, size_t at, std::string_view with) {
  CHECK(at + with.size() <= bytes.size(), "a patch lies within the bytes");
  bytes.replace(at, with.size(), with);
}

std::string BuildImage(const ImageSpec& spec) {
  std::string data = spec.data;
  const bool compresses = (spec.flags & (kLz4 | kZstd)) != 0;
  if (spec.kind == kPtx && compresses) data += '\0';
  const std::string stored = compresses ? Compressed(data, spec.flags) : data;

  std::string tail;
  uint32_t identifier_at = 0, options_at = 0;
  if (!spec.identifier.empty()) {
    identifier_at = 64;
    tail += Padded(spec.identifier, 8);
  }
  if (spec.kind != kCubin) {
    options_at = static_cast<uint32_t>(64 + tail.size());
    tail += U32(options_at + 8) + U32(static_cast<uint32_t>(spec.options.size()));
    tail += Padded(spec.options, 8);
  }
  const std::string payload = Padded(stored, 8);
  std::string out =
      U16(spec.kind) + U16(0x0101) + U32(static_cast<uint32_t>(64 + tail.size())) + U64(payload.size());
  out += U32(compresses ? static_cast<uint32_t>(stored.size()) : 0) + U32(options_at) + U16(spec.minor) +
         U16(spec.major);
  out += U32(spec.sm) + U32(identifier_at) + U32(static_cast<uint32_t>(spec.identifier.size()));
  out += U64(spec.flags | 0x11) + U64(0) + U64(compresses ? data.size() : 0);
  return out + tail + payload;
}

std::string ContainerOf(std::string_view entries) {
  return U32(0xBA55ED50) + U16(1) + U16(16) + U64(entries.size()) + std::string(entries);
}

std::string BuildContainer(const std::vector<ImageSpec>& images) {
  std::string entries;
  for (const ImageSpec& image : images) entries += BuildImage(image);
  return ContainerOf(entries);
}

std::string SamplePtx(const std::vector<std::string>& kernels, std::string_view target,
                      std::string_view version) {
  std::string out = fmt::format("\n\n.version {}\n.target {}\n.address_size 64\n", version, target);
  for (const std::string& kernel : kernels) {
    out +=
        fmt::format("\n.visible .entry {}(\n\t.param .u64 {}_param_0\n)\n{{\n\tret;\n}}\n", kernel, kernel);
  }
  return out;
}

ImageSpec PtxSpec(const std::vector<std::string>& kernels, uint32_t sm, uint64_t flags) {
  const char* suffix = (flags & kArchSpecific) != 0 ? "a" : (flags & kFamilySpecific) != 0 ? "f" : "";
  return {.sm = sm, .flags = flags, .data = SamplePtx(kernels, fmt::format("sm_{}{}", sm, suffix))};
}

ImageSpec CubinSpec(uint32_t sm) {
  return {.kind = kCubin, .sm = sm, .data = BuildElf({}, kExecutable, 190), .major = 8, .minor = 1};
}

std::string BuildElf(const std::vector<SectionSpec>& sections, uint16_t type, uint16_t machine) {
  std::string body, headers(64, '\0');
  std::string names(1, '\0');
  auto add = [&](const SectionSpec& section) {
    body.resize((64 + body.size() + 15) / 16 * 16 - 64, '\0');
    headers += U32(static_cast<uint32_t>(names.size())) + U32(section.type) + U64(section.flags) +
               U64(section.address);
    headers += U64(64 + body.size()) + U64(section.data.size()) + U32(section.link) + U32(section.info) +
               U64(8) + U64(0);
    names += section.name + '\0';
    body += section.data;
  };
  for (const SectionSpec& section : sections) add(section);
  add({.name = ".shstrtab", .data = names + ".shstrtab" + '\0', .type = 3, .flags = 0});
  body = Padded(body, 8);
  const auto count = static_cast<uint16_t>(sections.size() + 2);
  std::string header = std::string(
                           "\x7f"
                           "ELF\x02\x01\x01",
                           7) +
                       std::string(9, '\0');
  header += U16(type) + U16(machine) + U32(1) + U64(0) + U64(0) + U64(64 + body.size()) + U32(0);
  header += U16(64) + U16(0) + U16(0) + U16(64) + U16(count) + U16(count - 1);
  return header + body + headers;
}

std::string Wrapper(uint64_t pointer, uint32_t version) {
  return U32(0x466243B1) + U32(version) + U64(pointer) + U64(0);
}

std::string Rela(uint64_t place, uint32_t type, uint32_t symbol, uint64_t addend) {
  return U64(place) + U32(type) + U32(symbol) + U64(addend);
}

std::string Symbol(uint16_t section, uint64_t value) {
  return U32(0) + std::string(2, '\0') + U16(section) + U64(value) + U64(0);
}

std::string BuildArchive(const std::vector<MemberSpec>& members) {
  std::string long_names;
  std::string body;
  for (const MemberSpec& member : members) {
    std::string name = member.name + "/";
    if (name.size() > 16) {
      const size_t at = long_names.size();
      long_names += name + "\n";
      name = fmt::format("/{}", at);
    }
    body += MemberHeader(name, member.data.size()) + Even(member.data);
  }
  std::string out = "!<arch>\n" + MemberHeader("/", 4) + U32(0);
  if (!long_names.empty()) out += MemberHeader("//", long_names.size()) + Even(long_names);
  return out + body;
}

std::string BuildBsdArchive(const std::vector<MemberSpec>& members) {
  std::string out = "!<arch>\n";
  for (const MemberSpec& member : members) {
    const std::string name = Padded(member.name, 4);
    out += MemberHeader(fmt::format("#1/{}", name.size()), name.size() + member.data.size()) +
           Even(name + member.data);
  }
  return out;
}

std::string Deflated(std::string_view data, StreamKind kind) {
  z_stream stream = {};
  const int window = kind == StreamKind::kGzip ? 15 + 16 : 15;
  CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib begins");
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string LinkedImage(const std::vector<MemberSpec>& parts) {
  std::string out = "PTX2LINK" + U64(parts.size());
  for (const MemberSpec& part : parts)
    out += U64(part.name.size()) + U64(part.data.size()) + part.name + part.data;
  return out;
}

std::vector<MemberSpec> OneOfEach() {
  const std::string stored = BuildContainer({CubinSpec(), PtxSpec({"alpha"})});
  const std::string compressed =
      BuildContainer({PtxSpec({"beta", "gamma"}, 90, kZstd | kArchSpecific), PtxSpec({"beta"}, 75, kLz4)});
  ImageSpec piece = PtxSpec({"delta"}, 80, kZstd);
  piece.options = "--compile-only  ";
  piece.identifier = "delta.cu";
  const ImageSpec lto{.kind = kLtoIr,
                      .data = "\xed\x43\x4e\x7fjust some words",
                      .options = "-ftz=0",
                      .major = 65,
                      .minor = 1};
  const std::string relocatable = BuildContainer({lto, piece});
  const std::string object =
      BuildElf({{.name = "__nv_relfatbin", .data = relocatable},
                {.name = ".nvFatBinSegment", .data = Wrapper(0)},
                {.name = ".rela.nvFatBinSegment",
                 .data = Rela(8, 1, 1, 0),
                 .type = 4,
                 .flags = 0,
                 .link = 4,
                 .info = 2},
                {.name = ".symtab", .data = Symbol(0, 0) + Symbol(1, 0), .type = 2, .flags = 0}},
               kObject);
  const std::string shared =
      BuildElf({{.name = ".nv_fatbin", .data = stored + compressed, .address = 0x1000},
                {.name = "__nv_relfatbin", .data = relocatable, .address = 0x8000},
                {.name = ".nvFatBinSegment",
                 .data = Wrapper(0) + Wrapper(0x1000 + stored.size(), 2),
                 .address = 0x9000},
                {.name = ".rela.dyn", .data = Rela(0x9008, 8, 0, 0x1000), .type = 4, .link = 0}});
  const std::string linked =
      LinkedImage({{"first.ptx", SamplePtx({"alpha"})}, {"second.fatbin", compressed}});
  const std::string texts = BuildElf({{.name = ".rodata",
                                       .data = "words\0" + SamplePtx({"alpha"}) + std::string(1, '\0') +
                                               Deflated(SamplePtx({"beta"}), StreamKind::kGzip) + "more" +
                                               Deflated(SamplePtx({"gamma"}), StreamKind::kZlib) + linked}});
  return {{"stored.fatbin", stored},
          {"linked", linked},
          {"texts.so", texts},
          {"compressed.fatbin", compressed},
          {"module.ptx", SamplePtx({"alpha", "beta"})},
          {"code.cubin", BuildElf({}, kExecutable, 190)},
          {"piece.o", object},
          {"program.so", shared},
          {"library.a", BuildArchive({{"piece.o", object}, {"a_member_with_a_long_name.o", shared}})},
          {"library.bsd.a",
           BuildBsdArchive({{"piece.o", object}, {"inner.a", BuildArchive({{"x.o", object}})}})}};
}

}  // namespace ptx2cpu::fatbin_test
