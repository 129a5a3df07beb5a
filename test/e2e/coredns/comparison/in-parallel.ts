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
