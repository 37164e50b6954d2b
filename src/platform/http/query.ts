/**
 * The parameters of a query; one that is given several times is the list of its values. Koa's own reading takes the square of how many there
 * are: a second for what fits into a head.
 */
export function readQuery(text: string): Record<string, string | string[]> {
  const found = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const before = found.get(name);
    if (before === undefined) found.set(name, value);
    else if (typeof before === 'string') found.set(name, [before, value]);
    else before.push(value);
  }
  return Object.fromEntries(found);
}
