import { processOf } from "../../../abuse/harness/held.ts";
import { type GatewayProcess, startGateway } from "../../../harness/processes.ts";
import type { FaultProxy } from "../../../servers/network.ts";
import type { EngineLink } from "./engine.ts";
import { type ClusterHistory, GatewayView } from "./pushed-states.ts";

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

  constructor(name: string, gateway: GatewayProcess, link: FaultProxy | undefined, view: GatewayView) {
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
  async replica(): Promise<{ readonly position: unknown; readonly stateHash: unknown }> {
    const { position, stateHash } = (await this.gateway.http("/status")).json<Record<string, unknown>>();
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

/** How gateways that share an engine are set up. */
export interface GatewaysOptions {
  readonly count: number;
  /** Called once for each of them. */
  readonly connect: () => Promise<EngineLink>;
  /** The clusters that may push. */
  readonly histories: readonly ClusterHistory[];
}

/** Gateways that share an engine. */
export class Gateways {
  readonly members: readonly Member[];
  readonly #histories: readonly ClusterHistory[];

  private constructor(members: readonly Member[], histories: readonly ClusterHistory[]) {
    this.#histories = histories;
    this.members = members;
  }

  static async start({ count, connect, histories }: GatewaysOptions): Promise<Gateways> {
    const members: Member[] = [];
    for (let number = 1; number <= count; number++) {
      const { link, store } = await connect();
      const gateway = await startGateway({
        clusters: histories.map(({ clusterId }) => clusterId),
        tls: false,
        leaseSeconds: 5,
        ...(members[0] !== undefined && { tokensOf: members[0].gateway }),
        config: {
          access: { public: true },
          ttlSeconds: 1,
          limits: { pushesPerSecond: 100_000, pushBurst: 100_000 },
          store: { ...store, prefix: "shared" },
        },
      });
      members.push(new Member(`gateway ${number}`, gateway, link, new GatewayView(histories)));
    }
    return new Gateways(members, histories);
  }

  /** To be called before the engine loses what it had stored. */
  losing(): void {
    for (const history of this.#histories) history.losing();
    for (const { view } of this.members) view.losing();
  }

  /** To be called after that, when it loses nothing any more. */
  lost(): void {
    for (const history of this.#histories) history.lost();
    for (const { view } of this.members) view.lost();
  }

  /** The newest lines of each gateway's log, for reports. */
  logs(count: number): string[] {
    return this.members.flatMap(({ name, gateway }) => [
      name,
      ...gateway.process.log().trim().split("\n").slice(-count),
    ]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
  }
}
