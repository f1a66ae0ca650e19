#include "runtime/cuda/redirect/link_session.h"

#include <cstring>
#include <utility>

namespace ptx2cpu::redirect {

using namespace cuda;

namespace {

// Text in memory may end with zeros.
std::string_view WithoutZeros(std::string_view data) {
  const size_t last = data.find_last_not_of('\0');
  return data.substr(0, last == std::string_view::npos ? 0 : last + 1);
}
bool IsText(std::string_view data) { return WithoutZeros(data).find('\0') == std::string_view::npos; }
bool IsLinked(std::string_view data) { return data.size() >= 8 && rt::IsLinkedImage(data.data()); }

}  // namespace

bool LinkSession::Keeps(nvJitLinkInputType type, std::string_view data) const {
  if (data.empty() || type == NVJITLINK_INPUT_LTOIR || type == NVJITLINK_INPUT_INDEX) return false;
  return !lto_ || IsText(data) || IsLinked(data) || type == NVJITLINK_INPUT_CUBIN;
}

void LinkSession::Keep(std::string_view data, std::string name) {
  if (IsLinked(data)) {
    for (rt::LinkedPart& part : rt::ReadLinkedImage(data.data())) parts_.push_back(std::move(part));
    return;
  }
  if (name.empty()) name = "input " + std::to_string(parts_.size() + 1);
  parts_.push_back({std::move(name), std::string(IsText(data) ? WithoutZeros(data) : data)});
}

void LinkSession::Complete(std::string linked_ptx) {
  linked_ptx = WithoutZeros(linked_ptx);
  if (parts_.empty()) {
    image_ = std::move(linked_ptx);
    image_.push_back('\0');
    return;
  }
  std::vector<rt::LinkedPart> parts = parts_;
  if (!linked_ptx.empty()) parts.push_back({"linked LTO IR", std::move(linked_ptx)});
  image_ = rt::MakeLinkedImage(parts);
}

LinkSessions& LinkSessions::Get() {
  static auto* const sessions = new LinkSessions;
  return *sessions;
}

void LinkSessions::Set(nvJitLinkHandle handle, std::optional<LinkSession> session) {
  const std::lock_guard lock(mutex_);
  sessions_.erase(handle);
  if (session) sessions_.emplace(handle, *std::move(session));
}

LinkSession* LinkSessions::Find(nvJitLinkHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(handle);
  return found == sessions_.end() ? nullptr : &found->second;
}

}  // namespace ptx2cpu::redirect
