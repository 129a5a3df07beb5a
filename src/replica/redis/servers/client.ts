import { createClient } from "@redis/client";
import type { Endpoint, Login, RedisAddress } from "./address.ts";

/** How to connect to a server. */
export interface ClientOptions extends Login, Pick<RedisAddress, "ca" | "identity"> {
  readonly tls: boolean;
  readonly database?: number | undefined;
}

/** A connection to one server, which is not made again when it breaks. */
export type Client = ReturnType<typeof newClient>;

/**
 * Connects to a server.
 * @param mostWait how long it may take, in milliseconds
 * @param onLost called once if the connection breaks after it was made
 */
export async function connectTo(
  endpoint: Endpoint,
  options: ClientOptions,
  mostWait: number,
  onLost: (client: Client, cause: unknown) => void,
): Promise<Client> {
  const client = newClient(endpoint, options, mostWait);
  // Every error comes with the end of the connection, and with the commands that wait for replies.
  client.on("error", () => {});
  try {
    await within(mostWait, client.connect());
  } catch (error) {
    client.destroy();
    throw error;
  }
  client.once("terminated", (cause: unknown) => onLost(client, cause));
  return client;
}

/** Waits for a reply. @param mostWait milliseconds @throws {Error} `no reply for … seconds` */
export async function within<Reply>(mostWait: number, reply: Promise<Reply>): Promise<Reply> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoReply(mostWait)), mostWait);
  });
  try {
    return await Promise.race([reply, tooLong]);
  } finally {
    clearTimeout(timer);
  }
}

/** A server that does not reply, while the system takes the connection for good. */
export class NoReply extends Error {
  constructor(mostWait: number) {
    super(`no reply for ${mostWait / 1000} seconds`);
  }
}

function newClient(
  { host, port }: Endpoint,
  { tls, username, password, database, ca, identity }: ClientOptions,
  connectTimeout: number,
) {
  const common = { host, port, connectTimeout, reconnectStrategy: false as const };
  const trust = { ...(ca !== undefined && { ca }), ...identity };
  return createClient({
    ...{ RESP: 2, disableOfflineQueue: true, disableClientInfo: true, maintNotifications: "disabled" },
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && database !== 0 && { database }),
    socket: tls ? { ...common, tls: true, ...trust } : common,
  });
}
