import type { RecordType } from "dns-packet";
import { StreamClient } from "../../../hosts/listeners/dns-clients.ts";
import { answerOf, queryBytes } from "../../servers/dns.ts";
import { freePort } from "../../servers/ports.ts";
import type { Question } from "../questions.ts";
import { type Observed, observe, silence } from "./observed.ts";

const OUTSTANDING = 100;

/** A gateway's config with a port of plain DNS for each view, and the ports; undefined is outside. */
export async function viewListeners(views: readonly (string | undefined)[]) {
  const ports = new Map<string | undefined, number>();
  for (const view of views) ports.set(view, await freePort());
  const listen = Array.from(ports, ([view, port]) => ({
    address: `127.0.0.1:${port}`,
    ...(view !== undefined && { view }),
  }));
  return { ports, config: { dns: { listen } } };
}

/** Asks 127.0.0.1:`port` over one TCP connection; what has no answer when it ends was met with silence. */
export async function ask(port: number, questions: readonly Question[]): Promise<Observed[]> {
  if (questions.length > 0x10000) throw new Error("two questions would have the same message ID");
  const client = await StreamClient.tcp(port);
  const observed = questions.map(() => silence);
  let sent = 0;
  const sendUpTo = (end: number) => {
    const next = questions.slice(sent, end);
    if (next.length === 0) return;
    client.send(...next.map((question, index) => queryFor(question, sent + index)));
    sent += next.length;
    if (sent === questions.length) client.socket.end();
  };
  try {
    sendUpTo(OUTSTANDING);
    for (let message = await client.next(); message !== undefined; message = await client.next()) {
      const index = message.readUInt16BE(0);
      if (index >= sent) throw new Error(`an answer with the ID of no question: ${index}`);
      observed[index] = observe(answerOf(message));
      sendUpTo(index + OUTSTANDING);
    }
    if (sent < questions.length)
      throw new Error(`the server closed the connection after ${sent} of ${questions.length} questions`);
    return observed;
  } finally {
    client.close();
  }
}

/** The wire bytes of a question, with EDNS, so that no client is taken for an old one. */
function queryFor({ name, type }: Question, id: number): Buffer {
  // dns-packet writes a type that it has no name for, such as HTTPS (RFC 9460), by its number.
  const asked = type === "HTTPS" ? "UNKNOWN_65" : type;
  return queryBytes({ name, type: asked as RecordType, edns: true }, id);
}

/** Acts on every element, a few of them at a time. */
export async function inParallel<Element>(
  elements: readonly Element[],
  act: (element: Element) => Promise<unknown>,
): Promise<void> {
  const queue = elements.values();
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (const element of queue) await act(element);
    }),
  );
}
