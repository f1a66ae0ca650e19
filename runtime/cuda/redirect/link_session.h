// One link at run time: the inputs that contain PTX, and the image that is finally returned as machine code.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/abi/nvjitlink_types.h"
#include "runtime/engine/linked_image.h"

namespace ptx2cpu::redirect {

class LinkSession {
 public:
  explicit LinkSession(bool lto) : lto_(lto) {}

  // Whether this session keeps such an input. The linker gets all others: LTO IR, and files that may contain
  // some.
  bool Keeps(cuda::nvJitLinkInputType type, std::string_view data) const;
  void Keep(std::string_view data, std::string name);
  void GaveAway() { gave_away_ = true; }
  bool lto() const { return lto_; }
  // Whether the linker has inputs.
  bool gave_away() const { return gave_away_; }
  // Completes the link with the PTX that the linker made of its inputs; empty: there were none.
  void Complete(std::string linked_ptx);
  // Empty: not complete.
  const std::string& image() const { return image_; }

 private:
  bool lto_;
  bool gave_away_ = false;
  std::vector<rt::LinkedPart> parts_;
  std::string image_;
};

// Links by handle. Handles are addresses, so links of several libraries do not collide.
class LinkSessions {
 public:
  static LinkSessions& Get();

  void Set(cuda::nvJitLinkHandle handle, std::optional<LinkSession> session);
  // Null: a link that is not ours. A link is used by one thread at a time.
  LinkSession* Find(cuda::nvJitLinkHandle handle);

 private:
  std::mutex mutex_;
  std::map<cuda::nvJitLinkHandle, LinkSession> sessions_;
};

}  // namespace ptx2cpu::redirect
