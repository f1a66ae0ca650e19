#include "runtime/recording/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/device/device_services.h"
#include "runtime/recording/difference.h"

namespace ptx2cpu::rt::recording {

namespace {

bool SamePlace(const NamedPlace& a, const NamedPlace& b) {
  return a.address == b.address && a.name == b.name;
}

Status CheckBlocks(const Area& area, const std::vector<uint32_t>& numbers) {
  if (numbers.size() == (area.bytes + kBlockBytes - 1) / kBlockBytes) return {};
  return Fail(ErrorCode::kContainer, "the recording is damaged: an area has too few or too many blocks");
}

// The bytes of one block of an area.
std::span<std::byte> BlockOf(std::span<std::byte> area, size_t index) {
  const size_t begin = index * kBlockBytes;
  return area.subspan(begin, std::min(kBlockBytes, area.size() - begin));
}

}  // namespace

std::string Describe(const Area& area, uint64_t offset) {
  return fmt::format("{:#x} ({}{} at {:#x}, of {} bytes, + {})", area.address + offset, area.what,
                     area.order == 0 ? "" : fmt::format(" {}", area.order), area.address, area.bytes, offset);
}

Result<std::vector<std::byte>> ContentsOf(const BlockReader& blocks, const Area& area,
                                          const std::vector<uint32_t>& numbers) {
  TRY_STATUS(CheckBlocks(area, numbers));
  std::vector<std::byte> bytes;
  for (const uint32_t number : numbers) {
    const std::vector<std::byte> block = TRY(blocks.Contents(number));
    bytes.insert(bytes.end(), block.begin(), block.end());
  }
  if (bytes.size() != area.bytes)
    return Fail(ErrorCode::kContainer, "the recording is damaged: an area is not as long as its blocks");
  return bytes;
}

Result<std::shared_ptr<const KernelCode>> Replay::CodeOf(const LaunchRecord& launch) {
  if (modules_.size() <= launch.module) modules_.resize(launch.module + 1);
  Module& known = modules_[launch.module];
  if (known.module == nullptr || !std::ranges::equal(known.places, launch.places, SamePlace)) {
    const ModuleRecord& record = reader_.records().modules[launch.module];
    ModuleOptions options = options_;
    options.contract = record.contract;
    known = {launch.places, KernelModule::Make(TRY(reader_.TextsOf(record)), options)};
    for (const NamedPlace& place : launch.places)
      TRY_STATUS(known.module->Bind(place.name, reinterpret_cast<std::byte*>(place.address)));
  }
  return known.module->Compile(launch.kernel, launch.shape.block);
}

Status Replay::Enter(const LaunchRecord& launch) {
  TRY_STATUS(memory_.Clear());
  for (const Area& area : launch.areas) {
    TRY_STATUS(CheckBlocks(area, area.before));
    const std::span<std::byte> bytes = ReplayMemory::At(area);
    for (size_t i = 0; i < area.before.size(); ++i) {
      const std::vector<std::byte> block = TRY(reader_.blocks().Contents(area.before[i]));
      const std::span<std::byte> to = BlockOf(bytes, i);
      if (block.size() != to.size())
        return Fail(ErrorCode::kContainer, "the recording is damaged: a block has another length");
      std::memcpy(to.data(), block.data(), to.size());
    }
  }
  return {};
}

Result<std::optional<LaunchError>> Replay::Run(const LaunchRecord& launch, const KernelCode& code,
                                               LaunchOptions options) {
  const ptx2cpu_kernel* kernel = TRY(code.ForBlock(launch.shape.block));
  if (launch.parameters.size() != kernel->parameter_bytes)
    return Fail(ErrorCode::kContainer, "the recording is damaged: the kernel takes other parameters");
  kernel = TRY(code.ForParameters(kernel, launch.shape.block, launch.parameters.data()));
  options.cooperative = launch.cooperative;
  DeviceServices services;  // its heap has no block yet: those of the recording are areas
  if (launch.heap_bytes != 0) services.limits.heap_bytes = launch.heap_bytes;
  if (options.services == nullptr) options.services = &services;
  return Launch(*kernel, launch.shape, launch.parameters, options);
}

Result<std::vector<Deviation>> Replay::Deviations(const LaunchRecord& launch) const {
  const BlockReader& blocks = reader_.blocks();
  std::vector<Deviation> deviations;
  for (const Area& area : launch.areas) {
    TRY_STATUS(CheckBlocks(area, area.after));
    const std::span<std::byte> bytes = ReplayMemory::At(area);
    Deviation deviation;
    uint64_t words = 0;
    for (size_t i = 0; i < area.after.size(); ++i) {
      const std::span<std::byte> now = BlockOf(bytes, i);
      const Digest hash = TRY(blocks.HashOf(area.after[i]));
      if (HashOf({reinterpret_cast<const char*>(now.data()), now.size()}) == hash) continue;
      const bool first = deviation.text.empty();
      if (!blocks.HasContents(area.after[i])) {
        if (first)
          deviation.text = fmt::format(
              "  {}: among the {} bytes from there, which the recording has only a hash of (--record-outputs "
              "keeps them)\n",
              Describe(area, i * kBlockBytes), now.size());
        continue;
      }
      const std::vector<std::byte> expected = TRY(blocks.Contents(area.after[i]));
      const auto difference = Compare(expected, now);
      if (!difference) continue;
      words += difference->words;
      if (first) {
        deviation.text = fmt::format("  {}:\n{}", Describe(area, i * kBlockBytes + difference->offset),
                                     DescribeElement(expected, now, difference->offset));
      }
    }
    if (words > 1) deviation.text += fmt::format("    and {} more words of this memory\n", words - 1);
    if (!deviation.text.empty()) deviations.push_back(std::move(deviation));
  }
  return deviations;
}

}  // namespace ptx2cpu::rt::recording
