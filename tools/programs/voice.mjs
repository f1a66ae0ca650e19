// whisper.cpp's voice detector: the same stretches of speech as on the package's CPU backend.
import {existsSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Node, Run, RunOnPtx2cpu} from "./process.mjs";

const kModel = "models/for-tests-silero-v6.2.0-ggml.bin";
const kSample = "samples/jfk.wav";

export function CheckVoice(context) {
  const what = "voice detector";
  const model = context.whisper && join(context.whisper, kModel);
  if (!model || !existsSync(model))
    return [{what, ran: false, right: false, measure: "--whisper-source names no checkout of whisper.cpp with its test models"}];
  const Words = (gpu) => [Node(context), join(context.scripts, "detect_voice.mjs"), context.folder,
                          JSON.stringify({gpu, model, audio: join(context.whisper, kSample)})];
  // The addon needs libcuda even for its CPU backend, so both sides run under exec.
  const theirs = RunOnPtx2cpu(context, [], Words(false), {});
  const ours = RunOnPtx2cpu(context, [], Words(true), {seconds: 300});
  const Result = (run) => (run.status === 0 ? JSON.parse(run.stdout.trim().split("\n").at(-1)) : undefined);
  const [a, b] = [Result(ours), Result(theirs)];
  if (!a || !b) {
    const failed = a ? theirs : ours;
    // whisper.cpp itself: whisper_vad_init_context() keeps the GPU out of its scheduler, whatever use_gpu is.
    const upstream = /pre-allocated tensor \(leaf_0\) in a buffer \(CUDA0\)/.test(failed.stderr);
    return [{what, ran: false, right: false,
             measure: upstream ? "whisper.cpp puts the detector's weights on the GPU and schedules it on the CPU only; it aborts on every GPU"
                               : LastLines(failed.stderr)}];
  }
  const equal = JSON.stringify(a.segments) === JSON.stringify(b.segments);
  return [{what, ran: true, right: equal, measure: `${a.segments.length} stretches of speech, ${equal ? "equal to" : "not those of"} the CPU backend`,
           ours: a.rounds.at(-1), theirs: b.rounds.at(-1)}];
}
