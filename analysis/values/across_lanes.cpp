#include "analysis/values/across_lanes.h"

namespace ptx2cpu::analysis {

using ir::Opcode;
using ir::Special;

namespace {

bool IsVote(Opcode op) {
  for (Opcode vote : {Opcode::kVoteAll, Opcode::kVoteAny, Opcode::kVoteUni, Opcode::kBallot,
                      Opcode::kMatchAll, Opcode::kRedux}) {
    if (op == vote) return true;
  }
  return ir::IsBarrier(op);
}

}  // namespace

Lanes LanesOf(Opcode op) {
  if (op == Opcode::kAgree || op == Opcode::kAgreeIndex) return Lanes::kAgree;
  if (op == Opcode::kActiveMask || op == Opcode::kLiveMask) return Lanes::kPresence;
  if (!ir::IsCollective(op) && !ir::IsBarrier(op)) return Lanes::kAlone;
  if (ir::Info(op).results.empty()) return Lanes::kMeet;
  if (op == Opcode::kElect) return Lanes::kElect;
  return IsVote(op) ? Lanes::kVote : Lanes::kExchange;
}

Varies VariesOf(Special special) {
  switch (special) {
    case Special::kNone:
    case Special::kNtidX:
    case Special::kNtidY:
    case Special::kNtidZ:
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
    case Special::kNwarpId:
    case Special::kNsmId:
    case Special::kGridId:
    case Special::kDynamicSharedSize:
    case Special::kTotalSharedSize:
    case Special::kAggrSharedSize:
    case Special::kNclusteridX:
    case Special::kNclusteridY:
    case Special::kNclusteridZ:
    case Special::kClusterNctaidX:
    case Special::kClusterNctaidY:
    case Special::kClusterNctaidZ:
    case Special::kClusterNctarank:
    case Special::kIsExplicitCluster:
    case Special::kReservedSharedBegin:
    case Special::kReservedSharedEnd:
    case Special::kReservedSharedOffset0:
    case Special::kReservedSharedOffset1:
    case Special::kEnvReg:
      return Varies::kUniformInGrid;
    case Special::kTidX:
    case Special::kTidY:
    case Special::kTidZ:
      return Varies::kAffineInTid;
    case Special::kLaneId:
      return Varies::kAffineInLane;
    case Special::kWarpId:
      return Varies::kUniformInWarp;
    case Special::kLaneMaskEq:
    case Special::kLaneMaskLe:
    case Special::kLaneMaskLt:
    case Special::kLaneMaskGe:
    case Special::kLaneMaskGt:
      return Varies::kVarying;
    case Special::kCtaidX:
    case Special::kCtaidY:
    case Special::kCtaidZ:
    case Special::kSmId:
    case Special::kClusteridX:
    case Special::kClusteridY:
    case Special::kClusteridZ:
    case Special::kClusterCtaidX:
    case Special::kClusterCtaidY:
    case Special::kClusterCtaidZ:
    case Special::kClusterCtarank:
      return Varies::kUniformInBlock;
    case Special::kClock:
    case Special::kClockHi:
    case Special::kClock64:
    case Special::kGlobaltimer:
    case Special::kGlobaltimerLo:
    case Special::kGlobaltimerHi:
    case Special::kPerfCounter:
      return Varies::kTime;
  }
  return Varies::kVarying;
}

}  // namespace ptx2cpu::analysis
