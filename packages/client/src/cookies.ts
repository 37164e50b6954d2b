/**
 * The cookies of one service, for environments whose `fetch` stores no cookies (Node). In a browser this object stays empty, because the browser
 * stores the cookies and hides the `Set-Cookie` header.
 */
export class Cookies {
  readonly #values = new Map<string, string>();

  /** @param header the initial cookies, in the format of a `Cookie` header */
  constructor(header = '') {
    for (const pair of header.split(';')) this.#set(pair);
  }

  /** Stores the cookies that a response sets, and deletes the cookies that the response marks as expired. */
  take(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split(';');
      const name = this.#set(pair);
      if (name !== null && attributes.some(isExpired)) this.#values.delete(name);
    }
  }

  /** Returns the `Cookie` header of the next request; '' when there are no cookies. */
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

function isExpired(attribute: string): boolean {
  const [name = '', value = ''] = attribute.trim().split('=');
  if (/^max-age$/i.test(name)) return Number(value) <= 0;
  return /^expires$/i.test(name) && Date.parse(value) <= Date.now();
}
