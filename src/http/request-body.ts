/**
 * Reads a request's body of at most `most` octets; undefined when it is longer, which is found out
 * before more than that is held. A declared length is trusted to be enforced by the HTTP host.
 */
export async function readBody(request: Request, most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    if (!(Number(declared) <= most)) return undefined;
    const body = new Uint8Array(await request.arrayBuffer());
    return body.length <= most ? body : undefined;
  }
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
