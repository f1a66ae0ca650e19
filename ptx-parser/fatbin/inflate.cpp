#include "ptx-parser/fatbin/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>

namespace ptx2cpu::ptx::fatbin {
namespace {

constexpr int kGzipOrZlib = 15 + 32;              // windowBits: the largest window, the header decides
constexpr uint64_t kMaxStep = uint64_t{1} << 30;  // zlib counts a call's bytes in 32 bits
constexpr size_t kMeasured = size_t{64} << 10;    // bytes decoded at a time where only their number matters

}  // namespace

struct Inflater::State {
  z_stream stream = {};
  Bytes rest;  // of the input, after what the stream was given

  bool Begin(Bytes stored) {
    rest = stored;
    stream.next_in = nullptr;
    stream.avail_in = 0;
    return inflateReset2(&stream, kGzipOrZlib) == Z_OK;
  }

  // Decodes into `to` until it is full or the stream ends; zlib's result of the last step.
  int Fill(std::span<char> to, size_t& written) {
    written = 0;
    while (written < to.size()) {
      if (stream.avail_in == 0 && !rest.empty()) {
        const Bytes step = rest.first(std::min<uint64_t>(rest.size(), kMaxStep));
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(step.data()));
        stream.avail_in = static_cast<uInt>(step.size());
        rest = rest.subspan(step.size());
      }
      const uint64_t room = std::min<uint64_t>(to.size() - written, kMaxStep);
      stream.next_out = reinterpret_cast<Bytef*>(to.data() + written);
      stream.avail_out = static_cast<uInt>(room);
      const int result = inflate(&stream, Z_NO_FLUSH);
      written += room - stream.avail_out;
      if (result != Z_OK) return result;
      if (stream.avail_in == 0 && rest.empty() && stream.avail_out != 0) return Z_BUF_ERROR;
    }
    return Z_OK;
  }

  uint64_t ReadOf(Bytes stored) const { return stored.size() - rest.size() - stream.avail_in; }
};

Inflater::Inflater() : state_(new State) {
  if (inflateInit2(&state_->stream, kGzipOrZlib) == Z_OK) return;
  delete state_;
  throw std::bad_alloc();
}

Inflater::~Inflater() {
  inflateEnd(&state_->stream);
  delete state_;
}

std::string Inflater::Head(Bytes stored, size_t max, uint64_t& read) {
  std::string head(max, '\0');
  size_t written = 0;
  if (state_->Begin(stored)) state_->Fill(head, written);
  read = state_->ReadOf(stored);
  head.resize(written);
  return head;
}

std::optional<StreamExtent> Inflater::Measure(Bytes stored, uint64_t max, uint64_t& cost) {
  std::array<char, kMeasured> buffer;
  uint64_t decoded = 0;
  int result = state_->Begin(stored) ? Z_OK : Z_STREAM_ERROR;
  while (result == Z_OK && decoded <= max) {
    size_t written = 0;
    result = state_->Fill(buffer, written);
    decoded += written;
  }
  const uint64_t read = state_->ReadOf(stored);
  cost = read + decoded;
  if (result != Z_STREAM_END || decoded > max) return std::nullopt;
  return StreamExtent{read, decoded};
}

std::optional<std::string> Inflater::Decode(Bytes stored, uint64_t size) {
  std::string out;
  int result = Z_STREAM_ERROR;
  size_t written = 0;
  // One byte more than stated, so that a stream that continues is seen.
  out.resize_and_overwrite(size + 1, [&](char* data, size_t room) {
    if (state_->Begin(stored)) result = state_->Fill({data, room}, written);
    return written;
  });
  if (result != Z_STREAM_END || written != size || state_->ReadOf(stored) != stored.size())
    return std::nullopt;
  return out;
}

}  // namespace ptx2cpu::ptx::fatbin
