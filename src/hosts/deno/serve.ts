/** `deno run -A src/hosts/deno/serve.ts --config FILE`: the gateway on Deno, with the flags of `clusterset-doh serve`. */
import { runProcess } from "../cli/program.ts";
import { startFetchServer } from "../runtimes/fetch-server.ts";
import { denoRuntime } from "./deno-runtime.ts";

await runProcess(["serve", ...process.argv.slice(2)], startFetchServer(denoRuntime));
