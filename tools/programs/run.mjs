// Runs the programs of the table below and writes the page tools/docs/real_programs.md.
import {mkdirSync, readFileSync, writeFileSync} from "node:fs";
import {dirname, join, resolve} from "node:path";
import {fileURLToPath} from "node:url";
import {parseArgs} from "node:util";

import {CheckFfmpeg} from "./ffmpeg.mjs";
import {CheckHalide} from "./halide.mjs";
import {CheckHashcat} from "./hashcat.mjs";
import {CheckLlama} from "./llama.mjs";
import {CheckOperations} from "./operations.mjs";
import {WritePage} from "./page.mjs";
import {InstallFromApt, InstallFromNpm} from "./process.mjs";
import {CheckRanks} from "./ranks.mjs";
import {CheckSamples} from "./samples.mjs";
import {CheckVoice} from "./voice.mjs";

const kLlamaVersion = "3.22.1";
const llamaPackages = ["node-llama-cpp", "@node-llama-cpp/linux-x64", "@node-llama-cpp/linux-x64-cuda",
                       "@node-llama-cpp/linux-x64-cuda-ext"].map((name) => `${name}@${kLlamaVersion}`);

// Each check returns rows {what, ran, right, measure, ours, theirs, note}; times are seconds of processor time.
const programs = {
  ffmpeg: {from: "Debian: ffmpeg", apt: ["ffmpeg"], npm: [], Check: CheckFfmpeg},
  halide: {from: "Debian: python3-halide", apt: ["python3-halide"], npm: [], Check: CheckHalide},
  hashcat: {from: "Debian: hashcat", apt: ["hashcat"], npm: [], Check: CheckHashcat},
  ggml: {from: `npm: @node-llama-cpp/linux-x64-cuda@${kLlamaVersion}`, apt: ["g++"], npm: llamaPackages, Check: CheckOperations},
  llama: {from: `npm: @node-llama-cpp/linux-x64-cuda, -cuda-ext, ${kLlamaVersion}`, apt: [], npm: llamaPackages, Check: CheckLlama},
  whisper: {from: "npm: @fugood/node-whisper-linux-x64-cuda@1.1.3", apt: [], npm: ["@fugood/node-whisper-linux-x64-cuda@1.1.3"],
            Check: CheckVoice},
  samples: {from: "github: NVIDIA/cuda-samples, by nvcc", apt: [], npm: [], Check: CheckSamples, page: "samples.md"},
  ranks: {from: "github: NVIDIA/nccl-tests and cuda-samples, by nvcc", apt: ["openmpi-bin", "libopenmpi-dev"], npm: [], Check: CheckRanks, page: "samples.md"},
};

const options = {
  folder: {type: "string"},
  "ggml-source": {type: "string"},
  "whisper-source": {type: "string"},
  "cuda-samples": {type: "string"},
  "nccl-tests": {type: "string"},
  operations: {type: "string"},
  seconds: {type: "string", default: "120"},
  "no-speed": {type: "boolean", default: false},
  "page-only": {type: "boolean", default: false},
  help: {type: "boolean", default: false},
};

const kHelp = `usage: tools/real_programs [OPTION ...] [${Object.keys(programs).join("|")} ...]     (none: all)

  --folder DIR          where programs are installed and results are kept (default: build/real_programs)
  --ggml-source DIR     a checkout of github ggml-org/ggml: its tests/test-backend-ops.cpp is built; needed by "ggml"
  --operations A,B,...  "ggml", "samples": only these operations or samples
  --seconds N           "ggml": time limit of an operation's cases (default 120); kernels stay in the cache, so that
                        the next run reaches more cases
  --whisper-source DIR  a checkout of github ggml-org/whisper.cpp, for its voice model and sample; needed by "whisper"
  --cuda-samples DIR    a checkout of github NVIDIA/cuda-samples; needed by "samples" and "ranks", which nvcc builds
  --nccl-tests DIR      a checkout of github NVIDIA/nccl-tests; needed by "ranks"
  --no-speed            "llama": without the model of 100 million weights
  --page-only           writes the page from the results that are there`;

async function Main() {
  const {values, positionals} = parseArgs({options, allowPositionals: true});
  if (values.help) return console.log(kHelp);
  const unknown = positionals.filter((name) => !(name in programs));
  if (unknown.length > 0) throw new Error(`no program '${unknown[0]}'\n${kHelp}`);
  const top = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
  const context = {
    top,
    tool: process.env.PTX2CPU_TOOL ?? join(top, "build/release/bin/ptx2cpu"),
    scripts: join(top, "tools/programs"),
    folder: resolve(values.folder ?? join(top, "build/real_programs")),
    ggml: values["ggml-source"] && resolve(values["ggml-source"]),
    whisper: values["whisper-source"] && resolve(values["whisper-source"]),
    samples: values["cuda-samples"] && resolve(values["cuda-samples"]),
    nccl: values["nccl-tests"] && resolve(values["nccl-tests"]),
    operations: values.operations?.split(","),
    seconds: Number(values.seconds),
    speed: !values["no-speed"],
  };
  const results = join(context.folder, "results");
  mkdirSync(results, {recursive: true});
  let wrong = 0;
  for (const name of values["page-only"] ? [] : positionals.length > 0 ? positionals : Object.keys(programs)) {
    const program = programs[name];
    InstallFromApt(context, program.apt);
    InstallFromNpm(context, program.npm);
    const rows = await program.Check(context);
    for (const row of rows) {
      console.log(`${name}: ${row.what}: ${row.ran ? (row.right ? "right" : "WRONG") : "did not run"}: ${row.measure}`);
      if (!row.right) wrong++;
    }
    const isByName = name === "ggml" || name === "samples";
    const old = isByName ? ReadRows(results, name).filter((row) => !rows.some((each) => each.what === row.what)) : [];
    const all = [...old, ...rows].sort((a, b) => (isByName ? (a.what < b.what ? -1 : 1) : 0));
    writeFileSync(join(results, `${name}.json`), JSON.stringify({date: new Date().toISOString().slice(0, 10), rows: all}, null, 1));
  }
  const all = Object.entries(programs).map(([name, {from, page}]) => ({name, from, page: page ?? "real_programs.md", rows: ReadRows(results, name)}));
  for (const page of new Set(all.map((program) => program.page))) {
    const onPage = all.filter((program) => program.page === page);
    if (onPage.some((program) => program.rows.length > 0)) WritePage(join(top, "tools/docs", page), onPage);
  }
  process.exitCode = wrong === 0 ? 0 : 1;
}

function ReadRows(results, name) {
  try {
    return JSON.parse(readFileSync(join(results, `${name}.json`))).rows;
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

try {
  await Main();
} catch (error) {
  console.error(`ptx2cpu: ${error.message}`);
  process.exitCode = 2;
}
