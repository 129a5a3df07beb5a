import { Agent, request } from "undici";
import { DEADLINE } from "../../../deadline.ts";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import type { ListeningGateway } from "../../clients/listening-gateway.ts";
import { queryBytes, queryUdp } from "../../servers/dns.ts";
import { checkAnswer, type Question } from "./bystander.ts";
import type { OrdinaryClient } from "./gateway-watch.ts";
import { Repetition } from "./repetition.ts";

/** Queries over UDP, TCP and TLS, on kept connections and on new ones. Fails if one of them is dropped. */
export function askPlainDns(listening: ListeningGateway, question: Question): Promise<OrdinaryClient> {
  const { dnsPort, dotPort, gateway } = listening;
  const tcp = () => StreamClient.tcp(dnsPort);
  const tls = () => StreamClient.tls(dotPort, { ca: gateway.ca, ALPNProtocols: ["dot"] });
  return repeat(async () => {
    const kept = [await tcp(), await tls()];
    const turn = async () => {
      await check(question, async (query) => (await queryUdp(dnsPort, query)).raw);
      for (const client of kept) await check(question, (query) => client.ask(query));
      for (const open of [tcp, tls]) {
        const client = await open();
        await check(question, (query) => client.ask(query));
        client.close();
      }
    };
    const close = async () => {
      for (const client of kept) client.close();
    };
    return { turn, close };
  });
}

/** Queries over HTTP/1.1 in clear, on a kept connection and on new ones. */
export function askInClear({ gateway }: ListeningGateway, question: Question): Promise<OrdinaryClient> {
  return repeat(async () => {
    const kept = new Agent({ pipelining: 1, connections: 1 });
    const ask = (dispatcher: Agent) => async (query: Buffer) => {
      const headers = { "content-type": "application/dns-message" };
      const options = { method: "POST", headers, body: query, dispatcher } as const;
      const { body } = await request(`${gateway.url}/dns-query`, options);
      return Buffer.from(await body.arrayBuffer());
    };
    const turn = async () => {
      await check(question, ask(kept));
      const fresh = new Agent();
      await check(question, ask(fresh)).finally(() => fresh.destroy());
    };
    return { turn, close: () => kept.destroy() };
  });
}

async function check(question: Question, ask: (query: Buffer) => Promise<Buffer | undefined>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("an ordinary client got no answer")), DEADLINE);
  });
  const query = queryBytes({ name: question.name, type: "A" });
  const answer = await Promise.race([ask(query), late]).finally(() => clearTimeout(timer));
  if (answer === undefined) throw new Error("an ordinary client's connection was dropped");
  checkAnswer(question, answer);
}

interface Asking {
  readonly turn: () => Promise<void>;
  readonly close: () => Promise<void>;
}

async function repeat(open: () => Promise<Asking>): Promise<OrdinaryClient> {
  const { turn, close } = await open();
  const repetition = new Repetition(turn);
  await repetition.answered(1);
  return {
    drops: [],
    answered: (more) => repetition.answered(more),
    stop: () => repetition.stop().finally(close),
  };
}
