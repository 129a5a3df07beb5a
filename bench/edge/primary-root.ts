import { request } from "undici";
import { TransferStateResponse } from "../../src/transfer/state-message.ts";

/** The root that an object serves, as it gives it to isolates. */
export async function primaryRoot({ url }: { readonly url: string }): Promise<Uint8Array> {
  const transfer = `${url}/api/v1/transfer`;
  const { status } = TransferStateResponse.parse(await (await request(`${transfer}/state`)).body.json());
  if (status.rootHash === undefined) throw new Error("the object serves no root");
  const { statusCode, body } = await request(`${transfer}/roots/${status.rootHash}`);
  if (statusCode !== 200) throw new Error(`the root: ${statusCode} ${await body.text()}`);
  return new Uint8Array(await body.arrayBuffer());
}
