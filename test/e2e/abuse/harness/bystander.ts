import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { DEADLINE } from "../../../deadline.ts";
import type { GatewayProcess } from "../../harness/processes.ts";
import { answerOf, queryBytes, queryDoh } from "../../servers/dns.ts";
import { Repetition } from "./repetition.ts";

/** The query of an ordinary client, and the addresses that it must get. */
export interface Question {
  readonly name: string;
  readonly addresses: readonly string[];
}

const PAUSE_MS = 200;

/** A request that got no answer. */
class Dropped extends Error {}

/**
 * An ordinary client that goes on asking while the gateway is attacked: over a connection that it keeps, and
 * over new ones. Each answer has to be right.
 */
export class Bystander {
  readonly #gateway: GatewayProcess;
  readonly #question: Question;
  #session: ClientHttp2Session;
  readonly #repetition: Repetition;
  /** How the gateway dropped the connection that it keeps, each time. */
  readonly drops: string[] = [];

  private constructor(gateway: GatewayProcess, question: Question, opensConnections: boolean) {
    this.#gateway = gateway;
    this.#question = question;
    this.#session = connectTo(gateway);
    this.#repetition = new Repetition(async () => {
      await this.#askAsClientsDo();
      if (opensConnections) await this.#askOverNewConnection();
    });
  }

  /**
   * Starts it, and waits for its first answer.
   * @param opensConnections whether it also queries over new connections
   */
  static async start(
    gateway: GatewayProcess,
    question: Question,
    { opensConnections = true } = {},
  ): Promise<Bystander> {
    const bystander = new Bystander(gateway, question, opensConnections);
    await bystander.answered(1);
    return bystander;
  }

  /**
   * Waits for so many further answers: during an attack, that it is answered meanwhile.
   * @throws what it got instead
   */
  answered(more: number): Promise<void> {
    return this.#repetition.answered(more);
  }

  /** @returns how many right answers it got @throws what it got instead of one */
  async stop(): Promise<number> {
    try {
      return await this.#repetition.stop();
    } finally {
      this.#session.destroy();
    }
  }

  /**
   * A gateway may close an idle connection; queries that it did not process are sent again over another one
   * (RFC 9113 section 8.7).
   */
  async #askAsClientsDo(): Promise<void> {
    const deadline = Date.now() + DEADLINE;
    for (;;) {
      try {
        return await this.#askOverKeptConnection();
      } catch (error) {
        if (!(error instanceof Dropped) || Date.now() > deadline) throw error;
        this.drops.push(`${new Date().toISOString()} ${error.message}`);
        this.#session.destroy();
        this.#session = connectTo(this.#gateway);
        await sleep(PAUSE_MS);
      }
    }
  }

  #askOverKeptConnection(): Promise<void> {
    const query = queryBytes({ name: this.#question.name, type: "A" }, 0);
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":path": `/dns-query?dns=${query.toString("base64url")}`,
        accept: "application/dns-message",
      });
      const parts: Buffer[] = [];
      stream.setTimeout(DEADLINE, () => reject(new Error("an ordinary client got no answer")));
      stream.on("data", (part) => parts.push(part));
      stream.on("error", ({ message }) => reject(new Dropped(message)));
      stream.on("close", () => reject(new Dropped("an ordinary client's request was dropped")));
      stream.on("end", () => {
        try {
          checkAnswer(this.#question, Buffer.concat(parts));
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  async #askOverNewConnection(): Promise<void> {
    const { url, ca } = this.#gateway;
    const { raw } = await queryDoh(`${url}/dns-query`, { name: this.#question.name, type: "A" }, { ca });
    checkAnswer(this.#question, raw);
  }
}

/** @throws where an answer does not have the addresses that it must */
export function checkAnswer({ name, addresses }: Question, raw: Buffer): void {
  const { message, rcode } = answerOf(raw);
  const found = (message.answers ?? []).map((record) => ("data" in record ? String(record.data) : ""));
  const got = `${rcode} ${found.sort().join(" ")}`;
  const wanted = `NOERROR ${[...addresses].sort().join(" ")}`;
  if (got !== wanted) throw new Error(`an ordinary client got ${got} for ${name}`);
}

function connectTo({ url, ca }: GatewayProcess): ClientHttp2Session {
  const session = connect(url, { ca });
  session.on("error", () => {});
  return session;
}
