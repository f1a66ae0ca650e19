// CUDA fat binaries: bytes of a program, library, object, archive, .fatbin or .ptx file -> the images in it,
// and PTX that a file carries in other ways: as text, as gzip or zlib stream, in an image of run-time
// linking.
//
// Extract() reads headers of containers, and the rest of the file for PTX; only Image::Decode() decodes an
// image of a container, so that listing a 500 MB library costs two scans. Whatever the bytes are, nothing is
// read outside them, nothing throws, and memory is bounded: a damaged container or image is reported
// (Extraction::warnings, Image::damage) and never hides the good ones beside it. Every function here may run
// on many threads over one Extraction, which does not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::ptx {

// Bounds on what a file may require. An image beyond them is listed and refused when decoded.
inline constexpr uint64_t kMaxImageSize = uint64_t{512} << 20;  // bytes of one decoded image
inline constexpr uint64_t kMaxExpansion = 1024;        // decoded : stored bytes, beyond the first 64 KiB
inline constexpr size_t kMaxImages = size_t{1} << 20;  // images of one file
inline constexpr size_t kMaxWarnings = 100;            // later ones are only counted

// The first bytes of an image that linking at run time made (runtime/engine/linked_image.h).
inline constexpr std::string_view kLinkedImageMagic = "PTX2LINK";

// The options of an image for its JIT compiler; some of them change results.
struct JitOptions {
  bool fmad = true;           // false: a multiply and an add may not become one fused operation
  bool compile_only = false;  // the module has unresolved externs and must be linked
  bool debug = false;         // -g
  bool generate_line_info = false;
  std::optional<uint32_t> maxrregcount;
  std::optional<uint32_t> opt_level;  // 0-3
  std::vector<std::string> unknown;   // any other option, verbatim, with its value
};
JitOptions ParseJitOptions(std::string_view text);

struct Image {
  enum class Kind : uint8_t { kPtx, kCubin, kLtoIr, kUnknown };
  enum class Compression : uint8_t { kNone, kLz4, kZstd, kLegacy, kGzip, kZlib };

  Kind kind = Kind::kUnknown;
  uint16_t raw_kind = 0;                  // as in the file, to name an unknown kind
  uint32_t sm = 0;                        // 90 for sm_90a; 0 if the file does not state it
  bool arch_specific = false;             // the "a" of sm_90a: for that SM only
  bool family_specific = false;           // the "f" of sm_100f: for that family only
  uint16_t ptx_major = 0, ptx_minor = 0;  // of PTX only
  uint64_t flags = 0;
  Compression compression = Compression::kNone;
  uint64_t stored_size = 0;    // bytes in the file
  uint64_t size = 0;           // bytes when decoded, as stated; PTX counts its padding NULs
  std::string options;         // JIT options of PTX, compiler options of LTO IR; verbatim
  std::string identifier;      // source file name, of -g and -lineinfo builds
  size_t container_index = 0;  // into Extraction::containers
  uint64_t file_offset = 0;    // of the image's header, or of the text or stream without one
  bool relocatable = false;    // in __nv_relfatbin or a linked image, of --compile-only, or an object of GCC
  std::string damage;          // not empty: what in the header is wrong; Decode() refuses with it
  std::span<const std::byte> payload;

  std::string Target() const;      // "sm_90a", "sm_100f", "sm_?"
  std::string PtxVersion() const;  // "9.0"; empty where not PTX
  JitOptions Jit() const { return ParseJitOptions(options); }

  // The decoded bytes; of PTX the text without trailing NULs. kContainer where the payload is corrupt or does
  // not decode to exactly its stated size, kUnsupported for the compression of very old toolkits and for
  // obfuscated payloads (compressed LTO IR).
  Result<std::string> Decode() const;
  // Names of the .entry definitions in the PTX, in text order; empty for other kinds.
  Result<std::vector<std::string>> Kernels() const;
};
std::string_view Name(Image::Kind kind);
std::string_view Name(Image::Compression compression);

// One container. Or, with version 0: all of a file that is a cubin or a bare .ptx text, a text or stream in
// another file, a part of a linked image.
struct Container {
  uint64_t offset = 0;  // in the file
  uint64_t size = 0;    // with its header
  uint16_t version = 0;
  std::string
      member;  // archive member, "outer.a/inner.o" where archives nest, or part of a linked image; else empty
  std::string section;  // ELF section; empty where in none
  std::vector<Image> images;

  std::string Where() const;  // "a.o:.nv_fatbin", ".nv_fatbin", "file"
};

// A record of .nvFatBinSegment: what the program registers with the CUDA runtime. Version 2 is the result of
// a device link: its container holds cubins only, and the PTX is in the relocatable containers.
struct Wrapper {
  uint64_t offset = 0;
  uint32_t version = 0;
  std::optional<size_t> container_index;  // empty where the pointer could not be followed
  std::string member;
};

struct Warning {
  uint64_t offset = 0;
  std::string message;
};

struct Extraction {
  enum class FileKind : uint8_t { kElf, kArchive, kFatbin, kPtx, kCubin, kLinkedImage, kOther };

  std::string name;
  FileKind file_kind = FileKind::kOther;
  uint64_t file_size = 0;
  std::vector<Container> containers;  // by offset
  std::vector<Wrapper> wrappers;
  std::vector<Warning> warnings;  // at most kMaxWarnings
  size_t warnings_left_out = 0;
  std::shared_ptr<const void> storage;  // keeps the mapped file; null from Extract()
};
std::string_view Name(Extraction::FileKind kind);

// The bytes must outlive the Extraction. `name` is for messages and file names only (".ptx" lets text without
// a .version directive through, for the parser to complain about). Errors: kNoPtx where the file has no CUDA
// code at all, kContainer where all it has is damaged.
Result<Extraction> Extract(std::span<const std::byte> bytes, std::string name);
Result<Extraction> ExtractOwned(std::string bytes, std::string name);  // the Extraction keeps the bytes
Result<Extraction> ExtractFile(const std::filesystem::path& path);     // also kFile

// A device to choose images for. Without one, the highest portable target wins and a target with a or f is
// used only if nothing portable exists: a CPU is not a member of a GPU's family.
struct Device {
  uint32_t sm = 0;  // 90; 0: any
  bool any() const { return sm == 0; }
};
// NVIDIA's rule: same SM where arch specific, same family and not above where family specific, else not
// above.
bool RunsOn(const Image& image, Device device);
// The PTX image of a container to translate; null where none fits. Among equal ones it is the most specific,
// then the first.
const Image* ChooseImage(const Container& container, Device device = {});

struct PtxImage {
  const Image* image = nullptr;  // in the Extraction
  std::string text;
  JitOptions options;
  std::vector<std::string> kernels;
};
// The decoded PTX of every container that has some for the device. With a kernel name (as in PTX, or the
// plain name of a C++ function where only one kernel has it): first the image that defines it, then, if that
// image is relocatable, the other relocatable images of the file, which may define its externs. Errors:
// kNoPtx (only machine code or LTO IR, or none for the device), kNotFound (names the nearest kernels), and
// those of Image::Decode().
Result<std::vector<PtxImage>> PtxImages(const Extraction& extraction,
                                        std::optional<std::string_view> kernel = std::nullopt,
                                        Device device = {});
// The images by program, in order: the relocatable ones are modules of one program that must be linked, where
// the first of them is; every other image is a program of its own.
std::vector<std::vector<PtxImage>> ByProgram(std::vector<PtxImage> images);
// Names of the kernels of several images, each once.
std::vector<std::string> KernelsOf(std::span<const PtxImage> images);
// The kernel of `kernels` that a user means by `name`: the exact one, else the only C++ function of that
// name.
std::optional<std::string> MatchKernel(std::span<const std::string> kernels, std::string_view name);
// Names of the .entry definitions in a PTX text.
std::vector<std::string> EntryNames(std::string_view ptx);

struct TableOptions {
  bool kernels = true;      // decode each PTX image to name its kernels
  size_t kernel_names = 4;  // per image; 0: all
};
// One row per image; then the warnings. Safe to print on a terminal whatever the file holds.
std::string RenderTable(const Extraction& extraction, const TableOptions& options = {});
// {"file", "kind", "size", "containers": [{..., "images": [...]}], "wrappers", "warnings"}; always valid
// UTF-8.
std::string RenderJson(const Extraction& extraction, const TableOptions& options = {});

struct WriteReport {
  std::vector<std::filesystem::path> files;  // in image order
  std::vector<Error> failures;               // images that could not be decoded
};
// Writes every PTX image as DIR/<file stem>[.<member>].<container>.<target>.ptx and makes DIR where it is
// missing. All files appear or, on an error of the file system, none. kNoPtx where there is nothing to write.
Result<WriteReport> WritePtx(const Extraction& extraction, const std::filesystem::path& dir);

}  // namespace ptx2cpu::ptx
