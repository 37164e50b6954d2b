import { PublicKey } from '@solana/web3.js';
import { statement } from '#platform/db/sql.ts';

/** Where an epoch is on the chain. */
export interface Place {
  readonly epoch: number;
  readonly program: PublicKey;
  readonly authority: PublicKey;
  readonly mint: PublicKey;
  readonly account: PublicKey;
  readonly vault: PublicKey;
}

/** A place as it is stored. Keys change; what was opened stays where it is. */
export interface PlaceRow {
  epoch: number;
  program: string;
  authority: string;
  mint: string;
  vault: string;
  address: string;
}

/** An epoch whose account may still change, and what is known of it. */
export interface Followed extends PlaceRow {
  root: Buffer;
  total: string;
  leaves: number;
  /** What of it is known to be claimed, finally; base units. */
  claimed: string;
  cursor: string | null;
  cursor_slot: number;
  gaps: number;
  /** Claims that have become known since the history was read. */
  unread: number;
  /** Nothing more can be claimed, and all that was is known. */
  ended: boolean;
}

/** Places never change once their root is signed. */
const known = new Map<string, Place>();
const MOST_KNOWN = 2_000;

/** The place of a row. */
export function placeOf(row: PlaceRow): Place {
  const key = `${row.epoch} ${row.address}`;
  const place = known.get(key);
  if (place) return place;
  const made: Place = {
    epoch: row.epoch,
    program: new PublicKey(row.program),
    authority: new PublicKey(row.authority),
    mint: new PublicKey(row.mint),
    account: new PublicKey(row.address),
    vault: new PublicKey(row.vault),
  };
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(key, made);
  return made;
}

/** What everyone may know of an epoch on the chain, as JSON: where to look, and what has been claimed, finally. */
export const ON_CHAIN = `(select jsonb_build_object('program', a.program, 'authority', a.authority, 'mint', a.mint, 'account', a.address, 'vault', a.vault,
  'claimed', a.claimed::text, 'claims', a.claims) from epoch_accounts a where a.epoch = e.epoch and a.opened_at is not null)`;

/** The stored place of an epoch, with what its end needs to know. */
export const selectPlace = statement<PlaceRow & { state: string; opened: boolean }>(
  'select_epoch_place',
  `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, e.state, a.opened_at is not null as opened
   from epoch_accounts a join epochs e on e.epoch = a.epoch where a.epoch = $1`,
);
