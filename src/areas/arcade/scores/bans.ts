import { sql } from 'kysely';
import { recheckQuests } from '#areas/points';
import { voidBanned } from '#jobs/points.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import { voidScores } from './decide.ts';

/** Maximum scores that one transaction voids. */
const CHUNK_SIZE = 200;

const nextScores = statement<{ id: string }>(
  'scores_of_banned',
  `select s.id from scores s join players p on p.wallet = s.wallet and p.banned_at is not null
   where s.wallet = $1 and s.status = 'accepted' limit ${CHUNK_SIZE}`,
);

const changePlayer = (wallet: string) => build.updateTable('players').where('wallet', '=', wallet);
const now = sql<string>`app_now()`;

async function playerExists(tx: Tx, wallet: string): Promise<boolean> {
  return (await run(tx, build.selectFrom('players').select('wallet').where('wallet', '=', wallet))).length > 0;
}

/**
 * Bans a wallet, so that it cannot sign in or submit scores, and enqueues a job that voids its accepted scores. Idempotent.
 * @throws 404 when the wallet never signed in
 */
export async function banWallet(app: App, wallet: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const ban = changePlayer(wallet).set({ banned_at: now, ban_reason: reason, scores_voided_at: null }).where('banned_at', 'is', null);
    const banned = await run(tx, ban.returning('wallet'));
    if (banned.length === 0 && !(await playerExists(tx, wallet))) throw fail(404, 'this wallet never signed in');
    tx.enqueue(voidBanned, { wallet });
  });
}

/**
 * Ends the ban of a wallet. Voided scores stay voided.
 * @throws 404 when the wallet never signed in
 * @throws 409 when the wallet is not banned
 */
export async function unbanWallet(app: App, wallet: string): Promise<void> {
  await app.tx(async (tx) => {
    const unban = changePlayer(wallet).set({ banned_at: null, ban_reason: null, scores_voided_at: null }).where('banned_at', 'is not', null);
    // While a wallet is banned, no quest is completed for it.
    if ((await run(tx, unban.returning('wallet'))).length > 0) return await recheckQuests(tx, [wallet]);
    throw (await playerExists(tx, wallet)) ? fail(409, 'the wallet is not banned') : fail(404, 'this wallet never signed in');
  });
}

/**
 * Voids the accepted scores of a banned wallet, one transaction per chunk. After a kill of the process, the retried job voids the remaining scores.
 */
export async function voidBannedScores(app: App, wallet: string): Promise<void> {
  for (;;) {
    const scores = await app.db.query(nextScores, [wallet]);
    if (scores.length === 0) break;
    const ids = scores.map((score) => score.id);
    const voided = await app.tx((tx) => voidScores(tx, wallet, ids, { by: 'ban', reason: 'the wallet was banned' }));
    if (voided === 0) return;
  }
  await app.tx((tx) => run(tx, changePlayer(wallet).set({ scores_voided_at: now }).where('banned_at', 'is not', null)));
}

/** Enqueues the voiding job again for each banned wallet whose scores are not all voided. */
export async function sweepUnfinishedBans(app: App): Promise<void> {
  const banned = build.selectFrom('players').select('wallet').where('banned_at', 'is not', null).where('scores_voided_at', 'is', null);
  const wallets = await run(app.db, banned.orderBy('banned_at').limit(100));
  await app.tx(async (tx) => {
    for (const { wallet } of wallets) tx.enqueue(voidBanned, { wallet });
  });
}
