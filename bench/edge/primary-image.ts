import { request } from "undici";
import { TransferStateResponse } from "../../src/transfer/state-message.ts";

/** The image that an object serves, as it gives it to isolates. */
export async function primaryImage({
  url,
}: {
  readonly url: string;
}): Promise<{ readonly rootHash: string; readonly bytes: Uint8Array }> {
  const transfer = `${url}/api/v1/transfer`;
  const { status } = TransferStateResponse.parse(await (await request(`${transfer}/state`)).body.json());
  const rootHash = status.rootHash;
  if (rootHash === undefined) throw new Error("the object serves no image");
  const { statusCode, body } = await request(`${transfer}/images/${rootHash}`);
  if (statusCode !== 200) throw new Error(`the image: ${statusCode} ${await body.text()}`);
  return { rootHash, bytes: new Uint8Array(await body.arrayBuffer()) };
}
