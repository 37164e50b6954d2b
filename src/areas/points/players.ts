import { statement } from '../../db/sql.ts';
import type { Tx } from '../../tx.ts';

const insertPlayer = statement('insert_player', 'insert into players (wallet) values ($1) on conflict do nothing');
// Shared lock: a ban waits for this transaction, and so sees all that it did.
const findPlayer = statement<{ banned: boolean }>(
  'find_player_to_join',
  'select banned_at is not null as banned from players where wallet = $1 for share',
);

/**
 * Makes sure that a wallet has its row, and holds it until the transaction ends.
 * @returns whether the wallet is banned
 */
export async function ensurePlayer(tx: Tx, wallet: string): Promise<{ banned: boolean }> {
  await tx.query(insertPlayer, [wallet]);
  const [player] = await tx.query(findPlayer, [wallet]);
  if (!player) throw new Error('the row of a player is gone');
  return player;
}
