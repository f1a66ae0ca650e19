// An event that processes share: a page of a file without a name, in which records are numbered as they are
// made and marked when they are done. Waiting means the latest record at the time of the call, by whichever
// process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/cuda/driver/core/export_server.h"

namespace ptx2cpu::driver {

class SharedEvent {
 public:
  // Null: the system has no memory.
  static std::shared_ptr<SharedEvent> Make();
  static std::shared_ptr<SharedEvent> Map(Descriptor file);
  ~SharedEvent();
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  uint64_t BeginRecord() { return page_->latest.fetch_add(1) + 1; }
  void EndRecord(uint64_t record);
  uint64_t Latest() const { return page_->latest.load(); }
  // 0 counts as done.
  bool Done(uint64_t record) const;
  void Await(uint64_t record) const;

  // The name under which this process serves it. False: it cannot.
  bool Export(ExportedName& name);

 private:
  // The number of records that may be pending at once; a further one waits for the place of an earlier one.
  static constexpr uint64_t kPlaces = 511;
  struct Page {
    std::atomic<uint64_t> latest;
    std::atomic<uint64_t> done[kPlaces];  // the last record that was done in each place
  };
  SharedEvent(Descriptor file, Page* page) : file_(std::move(file)), page_(page) {}

  const Descriptor file_;
  Page* const page_;
  bool exported_ = false;
  ExportedName name_ = {};
};

}  // namespace ptx2cpu::driver
