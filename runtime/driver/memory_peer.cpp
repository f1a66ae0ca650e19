// Peer access. All simulated devices share one memory, so it is always possible between two; programs are still told
// whether they have asked for it.
#include <mutex>
#include <set>
#include <utility>

#include "driver_api.h"
#include "runtime/driver/context.h"

namespace ptx2cpu::driver {

namespace {

// By id: a primary context that begins again has no peers.
struct Peers {
  std::mutex mutex;
  std::set<std::pair<uint64_t, uint64_t>> enabled;  // who may reach whom

  static Peers& Get() {
    static auto* peers = new Peers;
    return *peers;
  }
};

CUresult FindPeers(CUcontext handle, Context*& current, Context*& peer) {
  if (const CUresult error = WorkingContext(current)) return error;
  peer = From<Context>(handle);
  return peer == nullptr || peer == current || !peer->alive() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  Context *current = nullptr, *peer = nullptr;
  if (const CUresult error = FindPeers(peerContext, current, peer)) return error;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (&current->device() == &peer->device()) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  Peers& peers = Peers::Get();
  const std::lock_guard lock(peers.mutex);
  return peers.enabled.insert({current->id(), peer->id()}).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  Context *current = nullptr, *peer = nullptr;
  if (const CUresult error = FindPeers(peerContext, current, peer)) return error;
  Peers& peers = Peers::Get();
  const std::lock_guard lock(peers.mutex);
  return peers.enabled.erase({current->id(), peer->id()}) == 1 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace ptx2cpu::driver
