import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { EXIT_CODES } from '#packages/verify/src/index.ts';
import type { Confirmed } from './confirmed.ts';
import type { Database } from './database.ts';

const COMMAND = join(import.meta.dirname, '../../../bin/verify-round');
const LATE = EXIT_CODES['late or unpaid'];

/** The sources for the verification of rounds. */
export interface RoundSources {
  readonly url: string;
  readonly rpc: string;
  /** Address of the draws account. */
  readonly draws: string;
}

interface Row {
  readonly id: string;
  readonly kind: 'chat' | 'legacy';
  readonly state: string;
  readonly entries: number;
  readonly why: string | null;
}

const FIND = `select id::text, kind, state, entries, void_reason as why from rounds where id = any($1::uuid[]) order by id`;

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
  // A round without entries is void. Every other round is drawn.
  const isOver = ({ state, entries }: Row) => state === 'finalized' || (state === 'void' && entries === 0);
  const unfinished = rows
    .filter((row) => !isOver(row))
    .map(({ id, state, entries, why }) => `round ${id} is ${state} with ${entries} entries: ${why}`);
  const drawn = rows.filter(({ state }) => state === 'finalized');
  const selected = (['chat', 'legacy'] as const).flatMap((kind) => drawn.filter((row) => row.kind === kind).slice(-maxVerified));
  const wrong: string[] = [];
  for (const { id } of selected) wrong.push(...(await verifyRound(id, known)));
  return [...missing, ...unfinished, ...wrong];
}

/**
 * Verifies a round with `bin/verify-round`, from public data and the chain. Faults may delay a commitment or a payment, so a round that is true but late
 * is no failure.
 */
function verifyRound(id: string, { url, rpc, draws }: RoundSources): Promise<string[]> {
  const args = [url, id, '--rpc', rpc, '--beacon-url', `${rpc}/beacon`, '--draws', draws, '--development'];
  return new Promise((resolve) => {
    execFile(COMMAND, args, (error, output, errorOutput) => resolve(error === null || error.code === LATE ? [] : [`${output}${errorOutput}`.trim()]));
  });
}
