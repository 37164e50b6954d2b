import type { BatchedEvents } from './event.ts';
import type { Bookmark } from './frame.ts';
import { framesFor, type Item, ownMessages, type Reader } from './replay-buffer.ts';

/**
 * Returns the bytes to send to one subscriber for a batch of stream entries; empty when the subscriber receives none of them.
 * @param after the position up to which entries are left out; null = all entries of the batch are new
 */
export type Batch = (reader: Reader, after: Bookmark | null) => Buffer;

/**
 * Prepares a batch of stream entries, so that each subscriber needs only one write. Subscribers of the same categories share the bytes, unless the
 * batch has messages for their own wallet.
 * @param hasStreams returns whether a wallet has open streams in this process
 */
export function composeBatch(batched: BatchedEvents, epoch: string, items: readonly Item[], hasStreams: (wallet: string) => boolean): Batch {
  const shared = new Map<number, Buffer>();
  const own = new Map<Item, Map<string, Buffer[]>>();
  const addressed = new Set<string>();
  for (const item of items) {
    if (item.wallet !== '') addressed.add(item.wallet);
    if (item.own === '') continue;
    const messages = ownMessages(batched, epoch, item, hasStreams);
    own.set(item, messages);
    for (const wallet of messages.keys()) addressed.add(wallet);
  }
  const sharedBytes = (mask: number) => {
    const known = shared.get(mask);
    if (known) return known;
    const bytes = Buffer.concat(items.flatMap((item) => (item.frame && item.wallet === '' && (item.bit & mask) !== 0 ? [item.frame] : [])));
    shared.set(mask, bytes);
    return bytes;
  };
  const bytesFor = (mask: number, wallet: string) =>
    Buffer.concat(
      items.flatMap((item) => {
        if ((item.bit & mask) === 0) return [];
        if (item.own !== '') return own.get(item)?.get(wallet) ?? [];
        return item.frame && (item.wallet === '' || item.wallet === wallet) ? [item.frame] : [];
      }),
    );
  return (reader, after) => {
    const { mask, wallet } = reader;
    if (after !== null) return Buffer.concat(items.flatMap((item) => framesFor(batched, epoch, item, reader, after)));
    return wallet !== null && addressed.has(wallet) ? bytesFor(mask, wallet) : sharedBytes(mask);
  };
}
