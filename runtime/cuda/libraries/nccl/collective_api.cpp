// Collectives, messages, reductions of the program's own.
#include <cstring>

#include "nccl_api.h"
#include "runtime/cuda/libraries/nccl/group.h"
#include "runtime/cuda/libraries/nccl/status.h"

namespace ptx2cpu::nccl {

namespace {

// Elements of 8 bits have no average and no scaled sum.
bool Scales(ncclDataType_t type) { return type != ncclFloat8e4m3 && type != ncclFloat8e5m2; }

// The reduction of a number; false: there is none.
bool SetReduction(Communicator& communicator, ncclRedOp_t op, Operation& operation) {
  constexpr Reduction kBuiltIn[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMaximum,
                                    Reduction::kMinimum, Reduction::kAverage};
  if (op >= ncclSum && op < ncclNumOps) {
    operation.reduction = kBuiltIn[op];
    return op != ncclAvg || Scales(operation.type);
  }
  const auto factor = communicator.FactorOf(op);
  if (!factor || factor->type != operation.type || !Scales(operation.type)) return false;
  operation.reduction = Reduction::kScaledSum;
  operation.factor = factor->value, operation.factor_at = factor->at;
  return true;
}

// A single rank's collective is a copy, which reports a missing address at once; of several it is work on the
// stream, whose bad address is found there.
bool CopiesFromNowhere(const Communicator& communicator, const Operation& operation) {
  const bool message = operation.kind == Kind::kSend || operation.kind == Kind::kReceive;
  return communicator.ranks() == 1 && !message && operation.count != 0 &&
         operation.send != operation.receive && (operation.send == nullptr || operation.receive == nullptr);
}

// An operation of a communicator, after its arguments are checked. `op` null: nothing is reduced.
ncclResult_t Queue(const char* name, ncclComm_t comm, Operation operation, const ncclRedOp_t* op,
                   cudaStream_t stream) {
  if (comm == nullptr) return Note(Fail(ncclInvalidArgument, name, "no communicator"));
  Communicator& communicator = *comm->communicator;
  if (SizeOf(operation.type) == 0) return Note(Fail(ncclInvalidArgument, name, "unknown type of elements"));
  if (operation.root < 0 || operation.root >= communicator.ranks())
    return Note(Fail(ncclInvalidArgument, name, "there is no rank " + std::to_string(operation.root)));
  if (op != nullptr && !SetReduction(communicator, *op, operation))
    return Note(Fail(ncclInvalidArgument, name, "unknown reduction, or one of another type"));
  if (const ncclResult_t error = communicator.error()) return Note(error);
  if (!CopiesFromNowhere(communicator, operation))
    return Note(Add(name, comm->communicator, operation, stream));
  return Note(Fail(ncclUnhandledCudaError, name, "no address"));
}

Operation Of(Kind kind, const void* send, void* receive, size_t count, ncclDataType_t type, int root = 0) {
  return {.kind = kind, .send = send, .receive = receive, .count = count, .type = type, .root = root};
}

}  // namespace

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  const size_t size = SizeOf(datatype);
  if (op == nullptr || scalar == nullptr || comm == nullptr) return ncclInvalidArgument;
  if (size == 0) return ncclInternalError;
  // As recorded, what is not immediate is in device memory, whatever its number.
  Communicator::Factor factor{datatype, 0, residence == ncclScalarHostImmediate ? nullptr : scalar};
  if (factor.at == nullptr) std::memcpy(&factor.value, scalar, size);
  *op = comm->communicator->AddFactor(factor);
  return ncclSuccess;
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return comm != nullptr && comm->communicator->RemoveFactor(op) ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclReduce", comm, Of(Kind::kReduce, sendbuff, recvbuff, count, datatype, root), &op, stream);
}
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return Queue("ncclBcast", comm, Of(Kind::kBroadcast, buff, buff, count, datatype, root), nullptr, stream);
}
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclBroadcast", comm, Of(Kind::kBroadcast, sendbuff, recvbuff, count, datatype, root),
               nullptr, stream);
}
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclAllReduce", comm, Of(Kind::kAllReduce, sendbuff, recvbuff, count, datatype), &op, stream);
}
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return Queue("ncclReduceScatter", comm, Of(Kind::kReduceScatter, sendbuff, recvbuff, recvcount, datatype),
               &op, stream);
}
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclAllGather", comm, Of(Kind::kAllGather, sendbuff, recvbuff, sendcount, datatype), nullptr,
               stream);
}
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                          ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclAlltoAll", comm, Of(Kind::kAllToAll, sendbuff, recvbuff, count, datatype), nullptr,
               stream);
}
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclGather", comm, Of(Kind::kGather, sendbuff, recvbuff, count, datatype, root), nullptr,
               stream);
}
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return Queue("ncclScatter", comm, Of(Kind::kScatter, sendbuff, recvbuff, count, datatype, root), nullptr,
               stream);
}

ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Queue("ncclSend", comm, Of(Kind::kSend, sendbuff, nullptr, count, datatype, peer), nullptr, stream);
}
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return Queue("ncclRecv", comm, Of(Kind::kReceive, nullptr, recvbuff, count, datatype, peer), nullptr,
               stream);
}

}  // namespace ptx2cpu::nccl
