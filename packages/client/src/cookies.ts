/**
 * The cookies of one service, for where `fetch` keeps none (Node). A browser keeps them itself, and shows none: there this stays empty.
 */
export class Cookies {
  readonly #values = new Map<string, string>();

  /** @param header cookies to begin with, as a `Cookie` header has them */
  constructor(header = '') {
    for (const pair of header.split(';')) this.#set(pair);
  }

  /** Takes over what an answer sets, and forgets what it ends. */
  take(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';');
      const name = this.#set(pair);
      if (name !== null && attributes.some(isOver)) this.#values.delete(name);
    }
  }

  /** The `Cookie` header of the next request; '' when there are none. */
  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  #set(pair: string): string | null {
    const at = pair.indexOf('=');
    if (at < 1) return null;
    const name = pair.slice(0, at).trim();
    this.#values.set(name, pair.slice(at + 1).trim());
    return name;
  }
}

function isOver(attribute: string): boolean {
  const [name = '', value = ''] = attribute.trim().split('=');
  if (/^max-age$/i.test(name)) return Number(value) <= 0;
  return /^expires$/i.test(name) && Date.parse(value) <= Date.now();
}
