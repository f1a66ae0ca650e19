#include "runtime/check/global_shadow.h"

namespace ptx2cpu::rt::check {

namespace {
// The pages that this thread used last.
struct RecentPage {
  uint64_t number = ~uint64_t{0};
  GlobalShadow::Page* page = nullptr;
};
constexpr size_t kRecentPages = 64;
thread_local RecentPage recent[kRecentPages];
}  // namespace

GlobalShadow::Page& GlobalShadow::PageOf(uint64_t address) {
  const uint64_t number = address / kPageBytes;
  RecentPage& place = recent[number % kRecentPages];
  if (place.number == number) return *place.page;
  std::lock_guard lock(mutex_);
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) {
    page = std::make_unique<Page>();
    page->lines.Resize(kPageBytes / 4);
  }
  place = {number, page.get()};
  return *page;
}

}  // namespace ptx2cpu::rt::check
