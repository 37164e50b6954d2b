import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { Keypair } from '@solana/web3.js';
import type { Confirmed } from './confirmed.ts';
import type { Database } from './database.ts';

const COMMAND = join(import.meta.dirname, '../../../bin/verify-round');

/** Where rounds are looked at, and how early they were to be committed. */
export interface Public {
  readonly url: string;
  readonly rpc: string;
  /** The secret key, as the workers have it. */
  readonly committer: string;
  readonly leadSec: number;
  readonly marginSec: number;
}

interface Row {
  readonly id: string;
  readonly kind: 'chat' | 'legacy';
  readonly state: string;
  readonly entries: number;
  readonly why: string | null;
  /** Of a void round: the one that has its entries. */
  readonly successor: string | null;
}

const FIND = `select r.id::text, r.kind, r.state, r.entries, r.void_reason as why, s.id::text as successor
  from rounds r left join rounds s on s.successor_of = r.id where r.id = any($1::uuid[]) or r.successor_of is not null order by r.id`;

/**
 * Rounds that have not ended as they should have, or that `bin/verify-round` does not find right.
 * @param most of each kind, the newest so many are verified
 */
export async function misdrawn(database: Database, known: Public, { rounds, legacyRounds }: Confirmed, most: number): Promise<string[]> {
  const rows = await database.rows<Row & { [column: string]: unknown }>(FIND, [[...rounds, ...legacyRounds]]);
  const missing = [...rounds, ...legacyRounds]
    .filter((id) => !rows.some((row) => row.id === id))
    .map((id) => `round ${id} was opened, and is not in the record`);
  // Without entries it is void, and so is one whose commitment came too late: its successor is drawn.
  const isOver = ({ state, why, successor }: Row) => state === 'finalized' || (state === 'void' && (why === 'no-entries' || successor !== null));
  const unfinished = rows
    .filter((row) => !isOver(row))
    .map(({ id, state, entries, why }) => `round ${id} is ${state} with ${entries} entries: ${why}`);
  const drawn = rows.filter(({ state }) => state === 'finalized');
  const looked = (['chat', 'legacy'] as const).flatMap((kind) => drawn.filter((row) => row.kind === kind).slice(-most));
  const wrong: string[] = [];
  for (const { id } of looked) wrong.push(...(await verified(id, known)));
  return [...missing, ...unfinished, ...wrong];
}

/** Checks a round as anybody can, from what is public. */
function verified(id: string, { url, rpc, committer, leadSec, marginSec }: Public): Promise<string[]> {
  const address = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(committer))).publicKey.toBase58();
  const pinned = ['--rpc', rpc, '--beacon', `${rpc}/beacon`, '--committer', address];
  const args = [url, id, ...pinned, '--least-lead', String(leadSec), '--least-margin', String(marginSec)];
  return new Promise((resolve) => execFile(COMMAND, args, (error, _out, complaint) => resolve(error ? [complaint.trim()] : [])));
}
