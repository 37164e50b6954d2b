import { type BatchedEvents, CATEGORIES } from './event.ts';
import { type Bookmark, formatId, message } from './frame.ts';
import { comparePositions, type Entry, type Position, STREAM_BYTES, STREAM_ENTRIES } from './redis-stream.ts';

/** Returns the bit of an event category. A set of categories is the sum of their bits. */
export const bitOf = (category: string): number => 1 << (CATEGORIES as readonly string[]).indexOf(category);

/** The categories and the wallet of a subscriber. */
export interface Reader {
  /** Sum of the bits of the categories that the subscriber has chosen. */
  readonly mask: number;
  /** The signed-in wallet; null = anonymous. */
  readonly wallet: string | null;
}

/** One entry of the stream, encoded once for all subscribers. */
export interface Item extends Position {
  readonly bit: number;
  /** The wallet that receives the entry; '' = all subscribers. */
  readonly wallet: string;
  /** The message; null when the entry has only `own`. */
  readonly frame: Buffer | null;
  /** Packed batched items, each for its own wallet; '' = none. */
  readonly own: string;
}

/**
 * Copies bytes into their own memory allocation. Node places small buffers in shared blocks of 64 KB, and a buffer in use keeps its whole block in
 * memory.
 */
function copyUnpooled(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

const toItem = (e: Entry): Item => ({
  publication: e.publication,
  seq: e.seq,
  bit: e.category === '' ? 0 : bitOf(e.category),
  wallet: e.wallet,
  frame: e.data === '' ? null : copyUnpooled(message(formatId(e.epoch, e), e.type, e.data)),
  own: e.own,
});

const sizeOf = (item: Item): number => (item.frame?.length ?? 0) + item.own.length + 150;

/**
 * Returns the messages for the batched items of one entry, by wallet.
 * @param wanted returns whether the messages of a wallet are needed
 * @param after the index of the last item to leave out; 0 = no item is left out
 */
export function ownMessages(
  batched: BatchedEvents,
  epoch: string,
  item: Item,
  wanted: (wallet: string) => boolean,
  after = 0,
): Map<string, Buffer[]> {
  const messages = new Map<string, Buffer[]>();
  const { type, category } = batched.own;
  for (const { index, at, wallet, members } of batched.unpack(item.own, wanted)) {
    if (index <= after) continue;
    const data = `${JSON.stringify({ type, category, at }).slice(0, -1)},${members}}`;
    const list = messages.get(wallet);
    const frame = message(formatId(epoch, item, index), type, data);
    if (list) list.push(frame);
    else messages.set(wallet, [frame]);
  }
  return messages;
}

/**
 * Holds the entries of the Redis stream in memory, up to the same maximum size as the stream. Clients that resume receive their missed events from
 * this buffer.
 */
export class ReplayBuffer {
  readonly epoch: string;
  #items: Item[] = [];
  /** Index in `#items` of the oldest entry that the buffer still holds. Older items are removed from the array from time to time. */
  #head = 0;
  #bytes = 0;
  #last: Position;
  #end = 0;

  readonly #batched: BatchedEvents;

  /** @param first the oldest entry of the stream */
  constructor(first: Entry, batched: BatchedEvents) {
    this.#batched = batched;
    this.epoch = first.epoch;
    this.#last = first;
    this.push(first);
  }

  /** Position of the newest entry. */
  get last(): Position {
    return this.#last;
  }

  /** The event id of the newest entry. */
  get id(): string {
    return formatId(this.epoch, this.#last);
  }

  /** Number of entries added so far, including evicted entries. */
  get end(): number {
    return this.#end;
  }

  /** Returns all entries added after the first `end` entries; null when some of them were evicted. */
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
    while (this.#items.length - this.#head > 1 && (this.#items.length - this.#head > STREAM_ENTRIES || this.#bytes > STREAM_BYTES)) {
      const gone = this.#items[this.#head++];
      if (gone) this.#bytes -= sizeOf(gone);
    }
    if (this.#head > STREAM_ENTRIES / 4) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Returns whether the buffer holds every entry after a bookmark. */
  covers(bookmark: Bookmark): boolean {
    const first = this.#items[this.#head];
    return bookmark.epoch === this.epoch && first !== undefined && comparePositions(bookmark, first) >= 0;
  }

  /**
   * Returns one page of the messages that a subscriber missed since its bookmark.
   * @param bytes the approximate size of the page
   * @returns the messages in order, and the position where the page ends; `end` is null when the page includes the newest entry
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

  /** Returns the index of the first item at or after a position. */
  #indexOf(position: Position): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const item = this.#items[middle];
      if (item && comparePositions(item, position) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Returns the messages of one entry for one subscriber.
 * @param after the last message to leave out; null = no message is left out
 */
export function framesFor(batched: BatchedEvents, epoch: string, item: Item, reader: Reader, after: Bookmark | null): readonly Buffer[] {
  if ((item.bit & reader.mask) === 0) return [];
  const order = after === null ? 1 : comparePositions(item, after);
  if (order < 0 || (order === 0 && after?.index === Number.POSITIVE_INFINITY)) return [];
  if (item.frame !== null) return order > 0 && (item.wallet === '' || item.wallet === reader.wallet) ? [item.frame] : [];
  const { wallet } = reader;
  if (wallet === null || !item.own.includes(wallet)) return [];
  return ownMessages(batched, epoch, item, (w) => w === wallet, order === 0 ? after?.index : 0).get(wallet) ?? [];
}
