/** Written into the bundle: an answer of the gateway. */
declare const FIXED_ANSWER: { readonly headers: Record<string, string>; readonly body: string };

export const { headers } = FIXED_ANSWER;
export const body = Uint8Array.from(atob(FIXED_ANSWER.body), (letter) => letter.charCodeAt(0));
