import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { addressOfKey } from '#test/support/solana/chain.ts';
import type { Confirmed } from './confirmed.ts';
import type { Database } from './database.ts';

const COMMAND = join(import.meta.dirname, '../../../bin/verify-round');

/** The sources for the verification of rounds, and the minimum times between commitment and beacon round. */
export interface RoundSources {
  readonly url: string;
  readonly rpc: string;
  /** Secret key of the committer, in the format of COMMITTER_KEY. */
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
  /** Id of the round that took over the entries of a void round. */
  readonly successor: string | null;
}

const FIND = `select r.id::text, r.kind, r.state, r.entries, r.void_reason as why, s.id::text as successor
  from rounds r left join rounds s on s.successor_of = r.id where r.id = any($1::uuid[]) or r.successor_of is not null order by r.id`;

/**
 * Checks that every round has ended, and that `bin/verify-round` accepts the newest rounds of each kind.
 * @param maxVerified number of rounds per kind to verify
 * @returns one sentence per failure
 */
export async function roundFailures(
  database: Database,
  known: RoundSources,
  { rounds, legacyRounds }: Confirmed,
  maxVerified: number,
): Promise<string[]> {
  const rows = await database.rows<Row & { [column: string]: unknown }>(FIND, [[...rounds, ...legacyRounds]]);
  const missing = [...rounds, ...legacyRounds]
    .filter((id) => !rows.some((row) => row.id === id))
    .map((id) => `round ${id} was opened and is not in the database`);
  // A round without entries is void. A round that was committed too late is void, too, and its successor is drawn instead.
  const isOver = ({ state, why, successor }: Row) => state === 'finalized' || (state === 'void' && (why === 'no-entries' || successor !== null));
  const unfinished = rows
    .filter((row) => !isOver(row))
    .map(({ id, state, entries, why }) => `round ${id} is ${state} with ${entries} entries: ${why}`);
  const drawn = rows.filter(({ state }) => state === 'finalized');
  const selected = (['chat', 'legacy'] as const).flatMap((kind) => drawn.filter((row) => row.kind === kind).slice(-maxVerified));
  const wrong: string[] = [];
  for (const { id } of selected) wrong.push(...(await verifyRound(id, known)));
  return [...missing, ...unfinished, ...wrong];
}

/** Verifies a round with `bin/verify-round`, from public data and the chain. */
function verifyRound(id: string, { url, rpc, committer, leadSec, marginSec }: RoundSources): Promise<string[]> {
  const address = addressOfKey(committer).toBase58();
  const pinned = ['--rpc', rpc, '--beacon', `${rpc}/beacon`, '--committer', address];
  const args = [url, id, ...pinned, '--least-lead', String(leadSec), '--least-margin', String(marginSec)];
  return new Promise((resolve) => execFile(COMMAND, args, (error, _out, errorOutput) => resolve(error ? [errorOutput.trim()] : [])));
}
