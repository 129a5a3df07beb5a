import { type Connection, headerOf } from "./connection.ts";

/**
 * Reads a request's body of at most `most` octets; undefined when it is longer, which is found out
 * before more than that is held. A declared length is trusted to be enforced by the HTTP host.
 */
export function readBody(
  request: Request,
  most: number,
  connection?: Partial<Connection>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const declared = headerOf(request, connection, "content-length");
  if (declared === null) return readUndeclared(request, most);
  if (!(Number(declared) <= most)) return Promise.resolve(undefined);
  return request.arrayBuffer().then((body) => (body.byteLength <= most ? new Uint8Array(body) : undefined));
}

async function readUndeclared(request: Request, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (request.body === null) return new Uint8Array(0);
  const body = new Uint8Array(most);
  let size = 0;
  const reader = request.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (size + part.value.length > most) {
      await reader.cancel();
      return undefined;
    }
    body.set(part.value, size);
    size += part.value.length;
  }
  return body.subarray(0, size);
}
