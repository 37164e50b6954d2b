import type { Api } from '../client.ts';
import { readItem, writeItem } from '../ui/storage.ts';

const ITEM = 'coinop:receipts';
const MAX_RECEIPTS = 200;

/** A signed receipt with the round of its entry. */
interface Kept {
  readonly round: string;
  readonly receipt: Api.EntryReceipt;
}

function read(): readonly Kept[] {
  try {
    const kept: unknown = JSON.parse(readItem('local', ITEM) ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

/** Keeps the receipt of an entry in this browser: a check of the round then proves that the entry was not left out. */
export function keepReceipt(round: string, receipt: Api.EntryReceipt): void {
  writeItem('local', ITEM, JSON.stringify([...read(), { round, receipt }].slice(-MAX_RECEIPTS)));
}

/** Returns the receipts of a round that this browser keeps. */
export const receiptsOf = (round: string): readonly Api.EntryReceipt[] => read().flatMap((kept) => (kept.round === round ? [kept.receipt] : []));
