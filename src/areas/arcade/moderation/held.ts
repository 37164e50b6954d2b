import { type SqlBool, sql } from 'kysely';
import { isOfOpenMonth } from '#areas/points';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import { BAN, rejectHeld } from './bulk.ts';
import type { ListedScore } from './lists.ts';

/** Maximum held scores that one transaction rejects. */
const CHUNK_SIZE = 200;

const selectHeld = statement<ListedScore>(
  'held_scores_of_banned',
  `select s.id, s.wallet, s.game_id as "gameId" from scores s join players p on p.wallet = s.wallet and p.banned_at is not null
   where s.wallet = $1 and s.status = 'held' limit ${CHUNK_SIZE}`,
);
const readHeld = (db: Queryable, wallet: string) => db.query(selectHeld, [wallet]);

/** Rejects the held scores of a banned wallet, one transaction per chunk. Idempotent; a crash at any point is safe. */
export async function rejectHeldOfBanned(app: App, wallet: string): Promise<void> {
  for (let held = await readHeld(app.db, wallet); held.length > 0; held = await readHeld(app.db, wallet)) {
    const scores = held;
    await app.tx((tx) => rejectHeld(tx, scores, { by: BAN, reason: 'the wallet was banned' }));
  }
}

/**
 * Makes the scores that a ban rejected wait for a moderator again, in the transaction that ends the ban. Scores of closed months stay rejected, because
 * they cannot change.
 */
export async function holdAgain(tx: Tx, wallet: string): Promise<void> {
  const again = build
    .updateTable('scores')
    // The reason that the rejection added is the last one.
    .set({ status: 'held', decided_at: null, decided_by: null, reasons: sql`trim_array(reasons, 1)` })
    .where('wallet', '=', wallet)
    .where('status', '=', 'rejected')
    .where('decided_by', '=', BAN)
    .where(sql<SqlBool>`${sql.raw(isOfOpenMonth('scores.id'))}`);
  await run(tx, again);
}
