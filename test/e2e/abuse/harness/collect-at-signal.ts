/** Loaded before a program (`--import`): at SIGUSR2 it collects its garbage and gives the free memory back to the system. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect: (options: object) => void = runInNewContext("gc");
process.on("SIGUSR2", () => collect({ type: "major", execution: "sync", flavor: "last-resort" }));
