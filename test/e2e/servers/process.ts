import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeError } from "../../../src/assembly/log.ts";
import { DEADLINE } from "../../deadline.ts";
import { waitFor } from "./wait.ts";

/** The program to start, and the check whether it serves. */
export interface ServerSpec {
  /** For messages and for the name of the log. */
  name: string;
  command: string;
  args: readonly string[];
  folder: string;
  env?: Record<string, string>;
  cwd?: string;
  /** Returns true once the server serves; false and an error both mean "not yet". */
  ready: () => Promise<boolean>;
}

/** A server program in its own process, which never outlives this one. */
export class ServerProcess {
  readonly spec: ServerSpec;
  #child: ChildProcess | undefined;
  starts = 0;

  constructor(spec: ServerSpec) {
    this.spec = spec;
  }

  static async start(spec: ServerSpec): Promise<ServerProcess> {
    const server = new ServerProcess(spec);
    await server.start();
    return server;
  }

  get pid(): number | undefined {
    return this.isRunning ? this.#child?.pid : undefined;
  }

  /** False before the start and once the process has ended, for whatever reason. */
  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The exit code once the process has ended by itself; null while it runs and after a signal ended it. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** Everything that the server has written, over all of its starts. */
  log(): string {
    return readFileSync(this.#logPath, "utf8");
  }

  spawn(): void {
    if (this.isRunning) throw new Error(`${this.spec.name} runs already`);
    this.starts++;
    const { command, args, env, cwd } = this.spec;
    const log = openSync(this.#logPath, "a");
    // setpriv executes the program in its own place, and the kernel ends it when this process dies.
    this.#child = spawn("setpriv", ["--pdeathsig", "KILL", "--", command, ...args], {
      cwd: cwd ?? this.spec.folder,
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    this.#child.once("error", () => {}); // `start` reports it: the process is not running
    closeSync(log);
  }

  /** Starts the process and waits until it is ready. @throws {Error} with the end of its log */
  async start(): Promise<void> {
    this.spawn();
    const ready = waitFor(
      `${this.spec.name} ready`,
      async () => !this.isRunning || ((await this.spec.ready()) && "ready"),
    ).catch(({ cause }: Error) => (cause === undefined ? "late" : `late, ${describeError(cause)}`));
    // Whoever has its port may let a request wait.
    const outcome = await Promise.race([this.ended().then(() => "ended"), ready]);
    if (outcome === "ready") return;
    await this.kill();
    const lastLines = this.log().trim().split("\n").slice(-20).join("\n");
    throw new Error(`${this.spec.name} did not become ready (${outcome}):\n${lastLines}`);
  }

  /** Asks the process to end. @throws {Error} if it does not, and had to be killed */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    this.#child?.kill("SIGTERM");
    await Promise.race([this.ended(), sleep(DEADLINE, undefined, { ref: false })]);
    if (!this.isRunning) return;
    await this.kill();
    throw new Error(`${this.spec.name} did not end`);
  }

  /** Sends a signal, such as SIGSTOP, which halts the process until SIGCONT. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#child?.kill("SIGKILL");
    await this.ended();
  }

  /** Stops the process if it runs and starts it again, with the same ports and files. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  get #logPath(): string {
    return join(this.spec.folder, `${this.spec.name}.log`);
  }

  /** Resolves when the process has ended, for whatever reason. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isRunning) this.#child?.once("exit", () => resolve());
      else resolve();
    });
  }
}
