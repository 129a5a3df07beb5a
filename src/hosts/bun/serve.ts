/** `bun src/hosts/bun/serve.ts --config FILE`: the gateway on Bun, with the flags of `clusterset-doh serve`. */
import { runProcess } from "../cli/run-process.ts";
import { startFetchServer } from "../runtimes/fetch-server.ts";
import { bunRuntime } from "./bun-runtime.ts";

await runProcess(["serve", ...process.argv.slice(2)], startFetchServer(bunRuntime));
