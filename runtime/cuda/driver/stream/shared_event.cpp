#include "runtime/cuda/driver/stream/shared_event.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

namespace ptx2cpu::driver {

namespace {
constexpr auto kLookAgain = std::chrono::microseconds(50);
}

std::shared_ptr<SharedEvent> SharedEvent::Make() {
  Descriptor file(memfd_create("ptx2cpu-event", MFD_CLOEXEC));
  if (!file || ftruncate(file.number(), sizeof(Page)) != 0) return nullptr;
  return Map(std::move(file));
}

std::shared_ptr<SharedEvent> SharedEvent::Map(Descriptor file) {
  struct stat about = {};
  if (!file || fstat(file.number(), &about) != 0 || about.st_size != sizeof(Page)) return nullptr;
  void* const page = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (page == MAP_FAILED) return nullptr;
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(file), static_cast<Page*>(page)));
}

SharedEvent::~SharedEvent() {
  if (exported_) ExportServer::Get().Remove(name_);
  munmap(page_, sizeof(Page));
}

void SharedEvent::EndRecord(uint64_t record) {
  std::atomic<uint64_t>& place = page_->done[record % kPlaces];
  uint64_t before = place.load();
  while (before < record && !place.compare_exchange_weak(before, record)) {
  }
}

bool SharedEvent::Done(uint64_t record) const {
  return record == 0 || page_->done[record % kPlaces].load() >= record;
}

void SharedEvent::Await(uint64_t record) const {
  while (!Done(record)) std::this_thread::sleep_for(kLookAgain);
}

bool SharedEvent::Export(ExportedName& name) {
  if (!exported_) exported_ = ExportServer::Get().Add(file_.number(), name_);
  name = name_;
  return exported_;
}

}  // namespace ptx2cpu::driver
