import { sql } from 'kysely';
import { parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import { newId } from '#lib/ids.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build, type RoundRow, readRound } from './rows.ts';
import type { ChatRoundTerms, PrizeTerms } from './terms.ts';

/** Returns the columns of a round that store the terms. */
export const termColumns = ({ title, picks, range, prizes, durationSec, maxEntriesPerWallet }: ChatRoundTerms) => ({
  ...{ title, picks, range, duration_sec: durationSec, max_entries_per_wallet: maxEntriesPerWallet },
  prizes: sql<PrizeTerms[]>`${JSON.stringify(prizes)}`,
});

/** Returns the columns of a round that store its frozen parameters. */
export const frozenColumns = (parameters: RoundParameters) => ({
  parameters,
  parameters_hash: parametersHash(parameters),
  opens_at: parameters.opensAt,
  closes_at: parameters.closesAt,
});

/**
 * Creates a chat round in state `pending`. `startChatRound` opens it for entries. Idempotent per id.
 * @param createdBy admin token's name, or `scheduler`
 * @param id unique id for the new round
 */
export async function createChatRound(tx: Tx, terms: ChatRoundTerms, createdBy: string, id: string = newId()): Promise<RoundRow> {
  const row = { id, kind: 'chat', state: 'pending', created_by: createdBy, ...termColumns(terms) } as const;
  const insert = build
    .insertInto('rounds')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing());
  await run(tx, insert);
  const round = await readRound(tx, id, 'chat');
  if (!round) throw new Error(`round ${id} was inserted but cannot be read`);
  return round;
}
