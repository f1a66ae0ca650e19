// hashcat: its self-test of each mode, then a word that it must find; beside its OpenCL kernels on PoCL where that is installed.
import {createHash} from "node:crypto";
import {mkdirSync} from "node:fs";
import {join} from "node:path";

import {LastLines, Run, RunOnPtx2cpu} from "./process.mjs";

const kWord = "zebra";
const modes = [{mode: "0", name: "MD5", digest: "md5"}, {mode: "1400", name: "SHA-256", digest: "sha256"}];

export function CheckHashcat(context) {
  const folder = join(context.folder, "hashcat");
  mkdirSync(folder, {recursive: true});
  // hashcat compiles its kernels with NVIDIA's NVRTC, which Debian main does not have.
  const nvrtc = Run(["bash", "-c", "ldconfig -p | grep -q libnvrtc || ls /usr/local/cuda*/lib64/libnvrtc.so >/dev/null"]).status === 0;
  if (!nvrtc) return [{what: "self-tests", ran: false, right: false, measure: "libnvrtc (CUDA toolkit) is not installed"}];
  return modes.map(({mode, name, digest}) => {
    const hash = createHash(digest).update(kWord).digest("hex");
    const Words = (device) => ["hashcat", "-m", mode, "-a", "3", "--potfile-disable", "--logfile-disable", "--restore-disable", "--force",
                               "--quiet", ...device, hash, "?l?l?l?l?l"];
    const settings = {folder, seconds: 400};
    const On = () => RunOnPtx2cpu(context, [], Words(["-D", "2"]), settings);
    On();  // the first run compiles
    const ours = On();
    const theirs = Run(Words(["-D", "1"]), settings);
    const found = ours.stdout.includes(`${hash}:${kWord}`);
    const selfTest = !/self-test fail/i.test(ours.stdout + ours.stderr);
    return {what: name, ran: ours.status === 0, right: found && selfTest,
            measure: found && selfTest ? "self-test passed, the word was found" : LastLines(ours.stderr + ours.stdout), ours: ours.processor,
            theirs: theirs.stdout.includes(`${hash}:${kWord}`) ? theirs.processor : undefined};
  });
}
