import { randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  AUTHORITATIVE_ANSWER,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  RECURSION_DESIRED,
  type RecordType,
  TRUNCATED_RESPONSE,
} from "dns-packet";
import { Agent, request } from "undici";
import { DEADLINE } from "../../deadline.ts";
import { optRecord } from "../../dns/opt-record.ts";
import { StreamClient } from "../../hosts/listeners/dns-clients.ts";

/** A question, or a whole query as wire bytes. */
export type Query = { name: string; type: RecordType; edns?: boolean } | Uint8Array;

/** An answer as bytes and as dns-packet decodes it. */
export type DnsAnswer = ReturnType<typeof answerOf>;

/** The wire bytes of a query; DoH asks for ID 0, the other transports for a random one. */
export function queryBytes(query: Query, id = randomInt(0x10000)): Buffer {
  if (query instanceof Uint8Array) return Buffer.from(query);
  const { name, type, edns = false } = query;
  const packet: Packet = {
    type: "query",
    id,
    flags: RECURSION_DESIRED,
    questions: [{ name, type, class: "IN" }],
    additionals: edns ? [optRecord([], { udpPayloadSize: 1232 })] : [],
  };
  return encode(packet);
}

/** Asks 127.0.0.1:`port` over UDP, again after `resendMs`: datagrams are lost where a buffer is full. */
export async function queryUdp(port: number, query: Query, resendMs = 1000): Promise<DnsAnswer> {
  const socket = createSocket("udp4");
  const bytes = queryBytes(query);
  const resending = setInterval(() => socket.send(bytes), resendMs);
  try {
    socket.connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.send(bytes);
    const [raw] = (await once(socket, "message", { signal: AbortSignal.timeout(DEADLINE) })) as [Buffer];
    return answerOf(raw);
  } finally {
    clearInterval(resending);
    socket.close();
  }
}

export async function queryTcp(port: number, query: Query): Promise<DnsAnswer> {
  const client = await StreamClient.tcp(port);
  try {
    const answer = await client.ask(queryBytes(query));
    if (answer === undefined) throw new Error("the connection ended without an answer");
    return answerOf(answer);
  } finally {
    client.close();
  }
}

/** Asks by DoH, with POST by default; an HTTP status other than 200 is an error. */
export async function queryDoh(
  url: string,
  query: Query,
  options: { ca?: string; headers?: Record<string, string>; method?: "GET" | "POST" } = {},
): Promise<DnsAnswer> {
  const bytes = queryBytes(query, 0);
  const viaGet = options.method === "GET";
  const connect = { timeout: DEADLINE, ...(options.ca !== undefined && { ca: options.ca }) };
  const dispatcher = new Agent({ connect, allowH2: true });
  try {
    const { statusCode, headers, body } = await request(
      viaGet ? `${url}?dns=${bytes.toString("base64url")}` : url,
      {
        method: viaGet ? "GET" : "POST",
        dispatcher,
        headers: {
          ...(viaGet ? {} : { "content-type": "application/dns-message" }),
          accept: "application/dns-message",
          ...options.headers,
        },
        body: viaGet ? null : bytes,
      },
    );
    const raw = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 200 || headers["content-type"] !== "application/dns-message") {
      throw new Error(`${url}: ${statusCode} ${headers["content-type"]} ${raw.toString("utf8")}`);
    }
    return answerOf(raw);
  } finally {
    await dispatcher.destroy();
  }
}

export function answerOf(raw: Buffer) {
  const message = decode(raw);
  const flags = message.flags ?? 0;
  // @types/dns-packet leaves the rcode out, which dns-packet decodes.
  const { rcode } = message as DecodedPacket & { rcode: string };
  return {
    raw,
    message,
    rcode,
    aa: (flags & AUTHORITATIVE_ANSWER) !== 0,
    tc: (flags & TRUNCATED_RESPONSE) !== 0,
  };
}
