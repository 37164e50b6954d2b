import { newId } from '#lib/ids.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { type RoundRow, readRound } from './rows.ts';
import type { ChatRoundTerms } from './schemas.ts';

const insert = statement(
  'insert_chat_round',
  `insert into rounds (id, kind, state, title, created_by, picks, range, prizes, duration_sec, max_entries_per_wallet)
   values ($1, 'chat', 'pending', $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing`,
);

/**
 * Creates a chat round in state `pending`. `startChatRound` opens it for entries. Idempotent per id.
 * @param createdBy admin token's name, or `scheduler`
 * @param id unique id for the new round
 */
export async function createChatRound(tx: Tx, terms: ChatRoundTerms, createdBy: string, id: string = newId()): Promise<RoundRow> {
  const { title, picks, range, prizes, durationSec, maxEntriesPerWallet } = terms;
  await tx.query(insert, [id, title, createdBy, picks, range, JSON.stringify(prizes), durationSec, maxEntriesPerWallet]);
  const round = await readRound(tx, id, 'chat');
  if (!round) throw new Error(`round ${id} was inserted but cannot be read`);
  return round;
}
