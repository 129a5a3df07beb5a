import { runProcess } from "./cli/program.ts";

await runProcess(process.argv.slice(2));
