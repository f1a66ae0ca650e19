// Programs of several processes that mpirun starts: NVIDIA's nccl-tests, and its sample of MPI.
import {existsSync, mkdirSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run} from "./process.mjs";

const kTests = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv"];
const kParts = ["src/common.cu", "src/util.cu", "verifiable/verifiable.cu", "src/timer.cc", "os/linux.cc"];

// MPI's words for a compiler, without those that nvcc does not know.
const MpiWords = (what) => Run(["mpicxx", `--showme:${what}`], {}).stdout.trim().split(/\s+/).filter((word) => /^(-[ILl]|\/)/.test(word));

function Compile(words, output) {
  if (existsSync(output)) return;
  const build = Run(["nvcc", "-std=c++17", "-arch=compute_80", "-cudart", "shared", ...words, "-o", output], {seconds: 1200});
  if (build.status !== 0) throw new Error(`nvcc: ${LastLines(build.stderr || build.stdout, 1)}`);
}

// `environment`: NAME=VALUE for the ranks.
function RunRanks(context, ranks, words, environment = []) {
  const ours = [context.tool, "exec", "--devices", String(ranks), "--threads", "1", "--", ...words];
  return Run(["mpirun", "--oversubscribe", "-np", String(ranks), ...environment.flatMap((each) => ["-x", each]), ...ours],
             {seconds: context.seconds, environment: {OMPI_ALLOW_RUN_AS_ROOT: "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: "1"}});
}

export function CheckRanks(context) {
  const rows = [];
  if (context.nccl) rows.push(...CheckNccl(context, join(context.folder, "ranks")));
  if (context.samples) rows.push(CheckSample(context, join(context.folder, "ranks")));
  return rows.length > 0 ? rows : [{what: "ranks", ran: false, right: false, measure: "--nccl-tests and --cuda-samples name no checkout"}];
}

// Results are compared by the tests themselves: all types and reductions, in place and out of place.
function CheckNccl(context, folder) {
  mkdirSync(folder, {recursive: true});
  const flags = ["-O1", "--extended-lambda", "-DMPI_SUPPORT", "-DNCCL_OS_LINUX",
                 ...["src", "os", "verifiable", "."].map((name) => `-I${join(context.nccl, name)}`), ...MpiWords("compile")];
  const Object = (part) => {
    const object = join(folder, `${part.replace(/^.*\/|\.\w+$/g, "")}.o`);
    Compile([...flags, "-c", join(context.nccl, part)], object);
    return object;
  };
  const parts = kParts.map(Object);
  const rows = [];
  for (const test of kTests) {
    const program = join(folder, `${test}_perf`);
    Compile([...parts, Object(`src/${test}.cu`), ...MpiWords("link"), "-lnccl"], program);
    rows.push(CheckTest(context, `${test}, 4 processes`, 4, [program, "-b", "1K", "-e", "16K", "-f", "16", "-n", "1", "-w", "0", "-d", "all", "-o", "all"]));
  }
  rows.push(CheckTest(context, "all_reduce, 2 processes by TCP", 2, [join(folder, "all_reduce_perf"), "-b", "1K", "-e", "1M", "-f", "32", "-n", "1", "-w", "0", "-o", "all"],
                      ["NCCL_SHM_DISABLE=1"]));
  return rows;
}

function CheckTest(context, what, ranks, words, environment) {
  const run = RunRanks(context, ranks, words, environment);
  const lines = run.stdout.match(/^ +\d+ +\d+ +\w+/gm)?.length ?? 0;
  const right = run.status === 0 && lines > 0 && /Out of bounds values : 0 OK/.test(run.stdout);
  return {what, ran: lines > 0, right, measure: right ? `none wrong in ${lines} combinations of type, reduction and size` : `status ${run.status}: ${LastLines(run.stdout + run.stderr)}`,
          ours: run.processor};
}

function CheckSample(context, folder) {
  mkdirSync(folder, {recursive: true});
  const source = join(context.samples, "Samples/0_Introduction/simpleMPI"), program = join(folder, "simpleMPI");
  Compile([...MpiWords("compile"), join(source, "simpleMPI.cu"), join(source, "simpleMPI.cpp"), ...MpiWords("link")], program);
  const run = RunRanks(context, 2, [program]);
  const right = run.status === 0 && /PASSED/.test(run.stdout);
  return {what: "simpleMPI, 2 processes", ran: run.status === 0, right, measure: LastLines(run.stdout + run.stderr), ours: run.processor};
}
