/**
 * What `/collect-garbage` answers, once no garbage is left; undefined for any other request. Needs V8's flag
 * `--expose-gc`.
 */
export function collectGarbage({ url }: { readonly url: string }): Response | undefined {
  if (!url.endsWith("/collect-garbage")) return undefined;
  const { gc } = globalThis as { gc?: () => void };
  gc?.();
  return new Response(null, { status: gc === undefined ? 501 : 204 });
}
