import { processOf } from "../../../abuse/harness/held.ts";
import type { GatewayProcess } from "../../../harness/processes.ts";
import type { FaultProxy } from "../../../servers/network.ts";
import type { GatewayView } from "./pushed-states.ts";

/** How far a gateway is. */
export interface Replica {
  /** In the log. */
  readonly position: unknown;
  readonly stateHash: unknown;
}

interface MemberParts extends Pick<Member, "name" | "gateway" | "link" | "view"> {
  /** Of a secondary. */
}

/** One of the gateways that share an engine. */
export class Member {
  readonly name: string;
  readonly gateway: GatewayProcess;
  /** The proxy in front of the engine, if it has one of its own. */
  readonly link: FaultProxy | undefined;
  /** What it may answer. */
  readonly view: GatewayView;
  #state: "running" | "halted" | "gone" = "running";
  /** Grows with each start, stop and halt: a request that saw two of them may fail. */
  epoch = 0;

  constructor({ name, gateway, link, view }: MemberParts) {
    this.name = name;
    this.gateway = gateway;
    this.link = link;
    this.view = view;
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    this.#become("gone");
    await this.gateway.kill();
  }

  /** Starts it again and waits until it answers: from all that was acknowledged until now. */
  async restart(): Promise<void> {
    this.#become("gone");
    this.view.restarted();
    await this.gateway.restart();
    this.#become("running");
  }

  /** SIGSTOP. */
  halt(): void {
    this.#become("halted");
    this.#signal("SIGSTOP");
  }

  /** SIGCONT. */
  resume(): void {
    this.#signal("SIGCONT");
    this.#become("running");
  }

  /** What equal gateways have in common. */
  async replica(): Promise<Replica> {
    const { position, stateHash } = (await this.gateway.http("/status")).json<Replica>();
    return { position, stateHash };
  }

  async stop(): Promise<void> {
    if (this.#state === "halted") this.resume();
    this.#become("gone");
    await this.gateway.stop();
    await this.link?.close();
  }

  #signal(name: NodeJS.Signals): void {
    process.kill(processOf(this.gateway.process.pid!), name);
  }

  #become(state: "running" | "halted" | "gone"): void {
    this.#state = state;
    this.epoch++;
  }
}
