import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { DEADLINE } from "../../../../deadline.ts";
import type { GatewayClient } from "../../../harness/gateway-client.ts";
import { answerOf, type DnsAnswer, queryBytes } from "../../../servers/dns.ts";
import type { Member } from "./gateways.ts";

/** The headless service that all simulated clusters export. */
const SERVICE_NAME = "web.shop.svc.clusterset.local";

/** Between an answer and the next query, in milliseconds. */
const PAUSE = 10;
/** A client of one gateway that asks all the time, and checks each answer. */
export class Querier {
  readonly member: Member;
  readonly #pool: Pool;
  readonly #report: (wrong: string) => void;
  readonly #done: Promise<void>;
  #isGoing = true;
  /** Right answers so far. */
  answers = 0;

  /** @param report called with each wrong answer and each failed query */
  constructor(member: Member, report: (wrong: string) => void) {
    this.member = member;
    this.#report = report;
    this.#pool = new Pool(member.gateway.url, { connections: 1 });
    this.#done = this.#run();
  }

  async stop(): Promise<void> {
    this.#isGoing = false;
    await this.#done;
    await this.#pool.destroy();
  }

  async #run(): Promise<void> {
    while (this.#isGoing) {
      if (this.member.isRunning) await this.#ask();
      await sleep(PAUSE);
    }
  }

  async #ask(): Promise<void> {
    const { member } = this;
    const { epoch, view } = member;
    const { floors } = view;
    const outcome = await this.#query().then(
      (addresses) => view.judge(floors, addresses),
      (error: Error) => `fails a query: ${error.message}`,
    );
    if (outcome?.endsWith("SERVFAIL") && view.mayBeEmpty) return;
    // A gateway that was killed or halted meanwhile may fail, and may answer from before.
    if (member.epoch !== epoch) return;
    if (outcome === undefined) this.answers++;
    else this.#report(`${member.name} ${outcome}; its log: ${JSON.stringify(await member.replica())}`);
  }

  async #query(): Promise<string[]> {
    const { statusCode, body } = await this.#pool.request({
      method: "POST",
      path: "/dns-query",
      headers: { "content-type": "application/dns-message" },
      body: queryBytes({ name: SERVICE_NAME, type: "A", edns: true }, 0),
      signal: AbortSignal.timeout(DEADLINE),
    });
    const raw = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 200) throw new Error(`HTTP status ${statusCode}: ${raw}`);
    return read(answerOf(raw));
  }
}

/** The addresses of the service, as a gateway answers now. @throws {Error} for an error response */
export async function addressesOf(gateway: GatewayClient): Promise<string[]> {
  return read(await gateway.query(SERVICE_NAME, "A"));
}

function read({ rcode, message }: DnsAnswer): string[] {
  if (rcode !== "NOERROR" && rcode !== "NXDOMAIN") throw new Error(rcode);
  return (message.answers ?? []).map((record) => ("data" in record ? String(record.data) : ""));
}
