/** Names that exist, names above and below them, and near misses. */
export function interestingNames(names: Iterable<string>): string[] {
  const asked = new Set<string>();
  for (const name of names) {
    const labels = name.replace(/\.$/, "").split(".");
    for (let cut = 0; cut < labels.length; cut++) asked.add(labels.slice(cut).join("."));
    asked.add(["nothing", ...labels].join("."));
    asked.add(labels.with(0, "nothing").join("."));
    asked.add(labels.join(".").toUpperCase());
  }
  return [...asked].filter((name) => name.length <= 253 && name !== "");
}
