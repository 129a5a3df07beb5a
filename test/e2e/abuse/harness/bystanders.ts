import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { DEADLINE } from "../../../deadline.ts";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import { type ListeningGateway, WEB, WEB_ADDRESSES } from "../../clients/listening-gateway.ts";
import { Connection } from "../../harness/connections.ts";
import { answerOf, queryBytes, queryUdp } from "../../servers/dns.ts";

/** Sends queries over a connection of its own. */
interface Client {
  ask(query: Buffer): Promise<Buffer | undefined>;
  close(): unknown;
}

export type Connect = () => Promise<Client>;

const PAUSE_MS = 200;
const DNS = { "content-type": "application/dns-message" };

export function overHttps({ gateway }: ListeningGateway): Connect {
  return async () => {
    const connection = await Connection.open(gateway);
    const post = { ":method": "POST", ...DNS };
    return {
      ask: async (query) => (await connection.get("/dns-query", post, query)).body,
      close: () => connection.close(),
    };
  };
}

export function inClear({ gateway }: ListeningGateway): Connect {
  return async () => {
    const dispatcher = new Agent({ pipelining: 1, connections: 1 });
    return {
      ask: async (query) => {
        const options = { method: "POST", headers: DNS, body: query, dispatcher } as const;
        const { body } = await request(`${gateway.url}/dns-query`, options);
        return Buffer.from(await body.arrayBuffer());
      },
      close: () => dispatcher.destroy(),
    };
  };
}

/** Over UDP, TCP and TLS. */
export function overPlainDns({ gateway, dnsPort, dotPort }: ListeningGateway): Connect[] {
  const udp = async () => ({
    ask: async (query: Buffer) => (await queryUdp(dnsPort, query)).raw,
    close: () => {},
  });
  const tls = { ca: gateway.ca, ALPNProtocols: ["dot"] };
  return [udp, () => StreamClient.tcp(dnsPort), () => StreamClient.tls(dotPort, tls)];
}

/**
 * An ordinary client that goes on asking while the gateway is attacked: over connections that it keeps, and
 * over new ones. It fails where an answer is not right, and where a connection is dropped.
 */
export class Bystander {
  readonly #kept: readonly Client[];
  readonly #running: Promise<void>;
  #turns = 0;
  #isStopping = false;

  private constructor(connect: readonly Connect[], kept: readonly Client[]) {
    this.#kept = kept;
    this.#running = this.#run(connect);
    // `stop` reports it.
    this.#running.catch(() => {});
  }

  /** Starts it, and waits for its first answers. */
  static async start(...connect: readonly Connect[]): Promise<Bystander> {
    const kept = await Promise.all(connect.map((one) => one()));
    const bystander = new Bystander(connect, kept);
    await bystander.answered(1);
    return bystander;
  }

  /** Waits until it was answered so many times more. @throws what it got instead */
  async answered(more: number): Promise<void> {
    const wanted = this.#turns + more;
    while (this.#turns < wanted) await Promise.race([this.#running, sleep(PAUSE_MS)]);
  }

  /** @throws what it got instead of a right answer */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running.finally(() => Promise.all(this.#kept.map((client) => client.close())));
  }

  async #run(connect: readonly Connect[]): Promise<void> {
    while (!this.#isStopping) {
      for (const client of this.#kept) await expectAnswer(client);
      for (const one of connect) {
        const client = await one();
        await expectAnswer(client).finally(() => client.close());
      }
      this.#turns++;
      await sleep(PAUSE_MS);
    }
  }
}

async function expectAnswer(client: Client): Promise<void> {
  const late = new AbortController();
  const raw = await Promise.race([
    client.ask(queryBytes({ name: WEB, type: "A" }, 0)),
    sleep(DEADLINE, "late" as const, { signal: late.signal }),
  ]).finally(() => late.abort());
  if (raw === "late") throw new Error("an ordinary client got no answer");
  if (raw === undefined) throw new Error("an ordinary client's connection was dropped");
  const { message, rcode } = answerOf(raw);
  const found = (message.answers ?? []).map((record) => ("data" in record ? String(record.data) : ""));
  const got = `${rcode} ${found.sort().join(" ")}`;
  if (got !== `NOERROR ${WEB_ADDRESSES.join(" ")}`) throw new Error(`an ordinary client got ${got}`);
}
