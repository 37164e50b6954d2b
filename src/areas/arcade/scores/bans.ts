import { voidBanned } from '#jobs/points.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { voidScores } from './decide.ts';

/** Maximum scores that one transaction voids. */
const CHUNK_SIZE = 200;

const ban = statement<{ wallet: string }>(
  'ban_player',
  'update players set banned_at = app_now(), ban_reason = $2, scores_voided_at = null where wallet = $1 and banned_at is null returning wallet',
);
const unban = statement<{ wallet: string }>(
  'unban_player',
  'update players set banned_at = null, ban_reason = null, scores_voided_at = null where wallet = $1 and banned_at is not null returning wallet',
);
const findPlayer = statement<{ wallet: string }>('find_player', 'select wallet from players where wallet = $1');
const nextScores = statement<{ id: string }>(
  'scores_of_banned',
  `select s.id from scores s join players p on p.wallet = s.wallet and p.banned_at is not null
   where s.wallet = $1 and s.status = 'accepted' limit ${CHUNK_SIZE}`,
);
const markVoided = statement('mark_ban_voided', 'update players set scores_voided_at = app_now() where wallet = $1 and banned_at is not null');
const unfinished = statement<{ wallet: string }>(
  'unfinished_bans',
  'select wallet from players where banned_at is not null and scores_voided_at is null order by banned_at limit 100',
);

/**
 * Bans a wallet, so that it cannot sign in or submit scores, and enqueues a job that voids its accepted scores. Idempotent.
 * @throws 404 when the wallet never signed in
 */
export async function banWallet(app: App, wallet: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const banned = await tx.query(ban, [wallet, reason]);
    if (banned.length === 0 && (await tx.query(findPlayer, [wallet])).length === 0) throw fail(404, 'this wallet never signed in');
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
    if ((await tx.query(unban, [wallet])).length > 0) return;
    throw (await tx.query(findPlayer, [wallet])).length === 0 ? fail(404, 'this wallet never signed in') : fail(409, 'the wallet is not banned');
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
  await app.tx((tx) => tx.query(markVoided, [wallet]));
}

/** Enqueues the voiding job again for each banned wallet whose scores are not all voided. */
export async function sweepUnfinishedBans(app: App): Promise<void> {
  const wallets = await app.db.query(unfinished);
  await app.tx(async (tx) => {
    for (const { wallet } of wallets) tx.enqueue(voidBanned, { wallet });
  });
}
