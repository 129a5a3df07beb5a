import { startGateway } from "../../../harness/processes.ts";
import type { EngineLink } from "./engine.ts";
import { Member } from "./member.ts";
import { type ClusterHistory, GatewayView } from "./pushed-states.ts";

/** How gateways that share an engine are set up. */
export interface GatewaysOptions {
  readonly count: number;
  /** Called once for each of them. */
  readonly connect: () => Promise<EngineLink>;
  /** The clusters that may push. */
  readonly histories: readonly ClusterHistory[];
  /** The shortest lease, in seconds. */
  readonly leaseSeconds?: number;
  /** Further keys of `store` in each config file. */
  readonly store?: Record<string, unknown>;
  /** Further keys of each config file. */
  readonly config?: Record<string, unknown>;
  /** Further variables of their environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Gateways that share an engine. */
export class Gateways {
  readonly members: readonly Member[];
  readonly #histories: readonly ClusterHistory[];

  private constructor(members: readonly Member[], histories: readonly ClusterHistory[]) {
    this.#histories = histories;
    this.members = members;
  }

  static async start({
    count,
    connect,
    histories,
    leaseSeconds = 5,
    store = {},
    config = {},
    env = {},
  }: GatewaysOptions): Promise<Gateways> {
    const members: Member[] = [];
    for (let number = 1; number <= count; number++) {
      const { link, store: reached } = await connect();
      const gateway = await startGateway({
        clusters: histories.map(({ clusterId }) => clusterId),
        tls: false,
        leaseSeconds,
        env,
        ...(members[0] !== undefined && { tokensOf: members[0].gateway }),
        config: {
          access: { public: true },
          ttlSeconds: 1,
          limits: { pushesPerSecond: 100_000, pushBurst: 100_000 },
          store: { ...reached, prefix: "shared", ...store },
          ...config,
        },
      });
      const view = new GatewayView(histories);
      members.push(new Member({ name: `gateway ${number}`, gateway, link, view }));
    }
    return new Gateways(members, histories);
  }

  get running(): readonly Member[] {
    return this.members.filter(({ isRunning }) => isRunning);
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
