import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { DEADLINE } from "../../../deadline.ts";
import { answerOf } from "../../servers/dns.ts";
import { type Question, zone } from "../questions.ts";
import { type Observed, observe, silence } from "./observed.ts";
import { queryFor } from "./query.ts";

const outstanding = 100;

/**
 * Asks 127.0.0.1:`port` over one TCP connection, some questions ahead of the answers. CoreDNS takes the
 * questions of a connection in turn, so a question whose successor is answered first was passed over in
 * silence.
 */
export async function askCoreDns(port: number, questions: readonly Question[]): Promise<Observed[]> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.setTimeout(DEADLINE, () => socket.destroy(new Error("CoreDNS sends nothing")));
  // The last question is there to show whether the one before it was answered.
  const asked = [...questions, { name: zone, type: "SOA" }];
  const observed: Observed[] = [];
  let sent = 0;
  const sendMore = () => {
    const upTo = Math.min(asked.length, observed.length + outstanding);
    if (sent < upTo)
      socket.write(Buffer.concat(asked.slice(sent, upTo).map((one, index) => framed(one, sent + index))));
    sent = Math.max(sent, upTo);
  };
  try {
    sendMore();
    for await (const message of messagesOf(socket)) {
      const index = indexOf(message.readUInt16BE(0), observed.length);
      if (index >= sent) throw new Error(`an answer with the ID of no question: ${message.readUInt16BE(0)}`);
      while (observed.length < index) observed.push(silence);
      observed.push(observe(answerOf(message)));
      if (observed.length === asked.length) break;
      sendMore();
    }
    if (observed.length < asked.length)
      throw new Error(`CoreDNS closed the connection at ${describeAt(asked, observed.length)}`);
    return observed.slice(0, questions.length);
  } finally {
    socket.destroy();
  }
}

function describeAt(asked: readonly Question[], index: number): string {
  return `${asked[index]?.name} ${asked[index]?.type}`;
}

function framed(question: Question, index: number): Buffer {
  const query = queryFor(question, index & 0xffff);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  return Buffer.concat([length, query]);
}

/** The index at or after `from` that a message ID stands for. */
function indexOf(id: number, from: number): number {
  return from + ((id - from) & 0xffff);
}

async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let received = Buffer.alloc(0);
  for await (const chunk of socket) {
    received = Buffer.concat([received, chunk as Buffer]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      yield received.subarray(2, end);
      received = received.subarray(end);
    }
  }
}
