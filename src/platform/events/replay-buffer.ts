import { type BatchedEvent, CATEGORIES } from './event.ts';
import { type Bookmark, formatId, message } from './frame.ts';
import { comparePositions, type Entry, FEED_BYTES, FEED_ENTRIES, type Position } from './redis-stream.ts';

/** A set of categories as bits. */
export const bitOf = (category: string): number => 1 << (CATEGORIES as readonly string[]).indexOf(category);
export const ALL_CATEGORIES = (1 << CATEGORIES.length) - 1;

/** Who reads: which categories, and as whom. */
export interface Reader {
  readonly mask: number;
  readonly wallet: string | null;
}

/** A message for some reader, encoded once. */
export interface Item extends Position {
  readonly bit: number;
  /** '' = everybody. */
  readonly wallet: string;
  readonly frame: Buffer | null;
  readonly own: string;
}

/** A copy in memory of its own: Node cuts small buffers out of slabs of 64 KB, and each that is kept would hold a whole slab. */
function apart(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

const toItem = (e: Entry): Item => ({
  publication: e.publication,
  seq: e.seq,
  bit: e.category === '' ? 0 : bitOf(e.category),
  wallet: e.wallet,
  frame: e.data === '' ? null : apart(message(formatId(e.epoch, e), e.type, e.data)),
  own: e.own,
});

const sizeOf = (item: Item): number => (item.frame?.length ?? 0) + item.own.length + 150;

/** Messages of own scores, by wallet. */
export function ownMessages(batched: BatchedEvent, epoch: string, item: Item, wanted: (wallet: string) => boolean, after = 0): Map<string, Buffer[]> {
  const messages = new Map<string, Buffer[]>();
  const { type, category } = batched.type;
  for (const { index, at, wallet, payload } of batched.unpack(item.own, wanted)) {
    if (index <= after) continue;
    const data = JSON.stringify({ type, category, at, ...payload });
    const list = messages.get(wallet);
    const frame = message(formatId(epoch, item, index), type, data);
    if (list) list.push(frame);
    else messages.set(wallet, [frame]);
  }
  return messages;
}

/** The feed as one process holds it in memory, bounded as the feed is: every client that resumes here is served from it. */
export class ReplayBuffer {
  readonly epoch: string;
  #items: Item[] = [];
  /** Items before it are gone; they are cut off now and then. */
  #head = 0;
  #bytes = 0;
  #last: Position;
  #end = 0;

  readonly #batched: BatchedEvent;

  /** @param first the feed's oldest entry */
  constructor(first: Entry, batched: BatchedEvent) {
    this.#batched = batched;
    this.epoch = first.epoch;
    this.#last = first;
    this.push(first);
  }

  /** The newest entry. */
  get last(): Position {
    return this.#last;
  }

  /** The id that says: everything up to the newest entry. */
  get id(): string {
    return formatId(this.epoch, this.#last);
  }

  /** How many entries it was given so far. */
  get end(): number {
    return this.#end;
  }

  /** What it was given after so many; null when some of that is gone. */
  since(end: number): readonly Item[] | null {
    const from = this.#items.length - (this.#end - end);
    return from < this.#head ? null : this.#items.slice(from);
  }

  push(entry: Entry): void {
    const item = toItem(entry);
    this.#items.push(item);
    this.#end++;
    this.#last = { publication: entry.publication, seq: entry.seq };
    this.#bytes += sizeOf(item);
    while (this.#items.length - this.#head > 1 && (this.#items.length - this.#head > FEED_ENTRIES || this.#bytes > FEED_BYTES)) {
      const gone = this.#items[this.#head++];
      if (gone) this.#bytes -= sizeOf(gone);
    }
    if (this.#head > FEED_ENTRIES / 4) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Whether everything after a bookmark is here: it is of this epoch and not older than the oldest entry. */
  covers(bookmark: Bookmark): boolean {
    const first = this.#items[this.#head];
    return bookmark.epoch === this.epoch && first !== undefined && comparePositions(bookmark, first) >= 0;
  }

  /**
   * A page of what a reader has missed since its bookmark.
   * @param bytes how large a page is, about
   * @returns the messages in order, and where the page ends; null = with the newest entry
   */
  page(bookmark: Bookmark, reader: Reader, bytes: number): { messages: Buffer[]; end: Bookmark | null } {
    const messages: Buffer[] = [];
    let size = 0;
    for (let i = this.#indexOf(bookmark); i < this.#items.length; i++) {
      const item = this.#items[i];
      if (!item) break;
      for (const frame of framesFor(this.#batched, this.epoch, item, reader, bookmark)) {
        size += frame.length;
        messages.push(frame);
      }
      if (size >= bytes)
        return { messages, end: { epoch: this.epoch, publication: item.publication, seq: item.seq, index: Number.POSITIVE_INFINITY } };
    }
    return { messages, end: null };
  }

  /** The first item that is not before a place. */
  #indexOf(place: Position): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const item = this.#items[middle];
      if (item && comparePositions(item, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** One reader's messages of an item, after its bookmark if it has one. */
export function framesFor(batched: BatchedEvent, epoch: string, item: Item, reader: Reader, after: Bookmark | null): readonly Buffer[] {
  if ((item.bit & reader.mask) === 0) return [];
  const order = after === null ? 1 : comparePositions(item, after);
  if (order < 0 || (order === 0 && after?.index === Number.POSITIVE_INFINITY)) return [];
  if (item.frame !== null) return order > 0 && (item.wallet === '' || item.wallet === reader.wallet) ? [item.frame] : [];
  const { wallet } = reader;
  if (wallet === null || !item.own.includes(wallet)) return [];
  return ownMessages(batched, epoch, item, (w) => w === wallet, order === 0 ? after?.index : 0).get(wallet) ?? [];
}
