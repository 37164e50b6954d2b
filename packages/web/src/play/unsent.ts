import { readItem, removeItem, writeItem } from '../ui/storage.ts';

/** A finished play whose score the arcade has not confirmed. */
export interface Unsent {
  readonly wallet: string;
  readonly gameId: string;
  readonly playId: string;
  readonly score: number;
  /** The input log, base64. */
  readonly replay: string;
}

const ITEM = 'coinop:unsent-score';

/** Stores a finished play, so that its score survives a reload of the page. */
export const storeUnsent = (unsent: Unsent): void => writeItem('local', ITEM, JSON.stringify(unsent));
export const forgetUnsent = (): void => removeItem('local', ITEM);

/** Returns the stored play of a wallet; null when there is none. */
export function readUnsent(wallet: string, gameId: string): Unsent | null {
  const text = readItem('local', ITEM);
  if (text === null) return null;
  // Only `storeUnsent` writes this item.
  const unsent: Unsent = JSON.parse(text);
  return unsent.wallet === wallet && unsent.gameId === gameId ? unsent : null;
}
