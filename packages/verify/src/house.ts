import { Entry } from '../../../src/lib/draw/entry.ts';
import { Lie, Unknown } from './report.ts';
import { type Answer, type HttpSource, parseJson, Unreadable } from './sources.ts';

/** Largest accepted answers of a house, bytes. A line of the entries has at most about 3,000 bytes, usually 250. */
const MAX_DOCUMENT_BYTES = 1024 * 1024;
const MAX_ENTRIES_BYTES = 256 * 1024 * 1024;
/** An audit contains the leaf of each entry, 67 bytes. */
const MAX_AUDIT_BYTES = 64 * 1024 * 1024;

/** The house: the service that runs the round. */
export interface House {
  /** Returns the audit as parsed JSON; null when the house answers that it has none. */
  audit(): Promise<unknown>;
  /** Returns the text of the entries. @throws Lie when the house refuses to show them */
  entries(): Promise<string>;
  /** Returns the payouts as parsed JSON; null when the house answers that it has none. */
  payouts(): Promise<unknown>;
}

/** Opens the house. A round is under `/chat/round/{id}` or, if the house has no chat round with this id, under `/round/{id}`. */
export function openHouse(source: HttpSource, id: string): House {
  let base = `/chat/round/${id}`;

  async function get(path: string, maxBytes = MAX_DOCUMENT_BYTES): Promise<Answer> {
    const answer = await source(path, maxBytes).catch((error: unknown) => {
      throw error instanceof Unreadable ? new Unknown('house', error.message) : error;
    });
    const { status } = answer;
    if (status !== 200 && !(status >= 400 && status < 500 && status !== 429 && status !== 408))
      throw new Unknown('house', `${path} answered ${status}`);
    return answer;
  }
  async function json(path: string, maxBytes?: number): Promise<unknown> {
    const { status, text } = await get(path, maxBytes);
    if (status !== 200) return null;
    const value = parseJson(text);
    if (value === undefined) throw new Unknown('house', `${path} did not answer JSON`);
    return value;
  }

  return {
    async audit() {
      const chat = await json(`${base}/audit`, MAX_AUDIT_BYTES);
      if (chat !== null) return chat;
      const legacy = await json(`/round/${id}/audit`, MAX_AUDIT_BYTES);
      if (legacy !== null) base = `/round/${id}`;
      return legacy;
    },
    async entries() {
      const { status, text } = await get(`${base}/entries?format=ndjson`, MAX_ENTRIES_BYTES);
      if (status !== 200) throw new Lie('entries', `the house does not show the entries of the closed round; it answers ${status}`);
      return text;
    },
    payouts: () => json(`${base}/payouts`),
  };
}

/** Returns a house that has published only an audit. */
export const houseOfAudit = (audit: unknown): House => ({
  audit: async () => audit,
  entries: async () => {
    throw new Unknown('entries', 'the entries are not given');
  },
  payouts: async () => {
    throw new Unknown('payouts', 'the payouts are not given');
  },
});

/** Parses the NDJSON of the entries. @throws Lie when a line is not an entry */
export function parseEntries(text: string): Entry[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line, i) => {
    const parsed = Entry.safeParse(parseJson(line));
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new Lie('entries', `entries[${i}]${issue?.path.length ? `.${issue.path.join('.')}` : ''} ${issue?.message ?? 'is not an entry'}`);
  });
}
