import { sql } from 'kysely';
import { appendActivities, isDetached, recheckQuests, refreshStandings } from '#areas/points';
import { applyBan } from '#jobs/points.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { build } from '../build.ts';
import { type BoardChange, boardChanges } from '../events.ts';
import { holdAgain, rejectHeldOfBanned } from '../moderation/held.ts';

const changePlayer = (wallet: string) => build.updateTable('players').where('wallet', '=', wallet);
const now = sql<string>`app_now()`;

const countScores = statement(
  'count_scores_of_wallet',
  `insert into game_counters as c (game_id, shard, scores, score_sum)
   select game_id, 0, $2::int * sum(scores), $2::int * sum(normalized) from (
     select game_id, 1 as scores, normalized from scores where wallet = $1 and status = 'accepted' and mode = 'regular'
     union all select game_id, scores, normalized from carried_games g where wallet = $1 and mode = 'regular' and scores > 0 and ${isDetached('g.month')}) s
   group by game_id order by game_id
   on conflict (game_id, shard) do update set scores = c.scores + excluded.scores, score_sum = c.score_sum + excluded.score_sum`,
);

// The last release banned wallets without the activity `ban`, and left them on the boards. An activity `ban` of a detached month is not in the table; such a
// ban was announced before. The day of tolerance covers the difference between the clocks of the service and of PostgreSQL.
const IS_ANNOUNCED = `(exists (select from activities a where a.wallet = p.wallet and a.kind = 'ban')
  or coalesce(p.banned_at < (
    select (max(make_date((k.month + 1) / 12, (k.month + 1) % 12 + 1, 1)) + interval '1 day') at time zone 'UTC'
    from closed_partitions k where k.relation = 'activities' and k.detached_at is not null), false))`;

const selectUnfinished = statement<{ wallet: string }>(
  'select_unfinished_bans',
  `select wallet from players p
   where banned_at is not null
     and (scores_voided_at is null or not ${IS_ANNOUNCED})
   order by banned_at limit 100`,
);
const findAnnounced = statement<{ one: number }>('find_announced_ban', `select 1 as one from players p where wallet = $1 and ${IS_ANNOUNCED}`);

async function playerExists(tx: Tx, wallet: string): Promise<boolean> {
  return (await run(tx, build.selectFrom('players').select('wallet').where('wallet', '=', wallet))).length > 0;
}

/**
 * Applies the effects of a wallet's ban on others: the boards, the counters of games and, by an activity, the points of its referrer. Precondition:
 * `tx` has changed `banned_at` in the row of the wallet, which also locks the wallet, so that its scores do not change.
 */
async function announce(tx: Tx, wallet: string, kind: 'ban' | 'unban'): Promise<void> {
  await tx.query(countScores, [wallet, kind === 'ban' ? -1 : 1]);
  const standings = await refreshStandings(tx, wallet);
  const changes = standings.flatMap(({ board, total }): BoardChange[] =>
    board.startsWith('game:') && total > 0 ? [{ wallet, gameId: board.slice('game:'.length), score: kind === 'ban' ? null : total }] : [],
  );
  if (changes.length > 0) tx.emit(boardChanges, { changes });
  await appendActivities(tx, [{ kind, sourceId: newId(), wallet, gameId: null, amount: 0 }]);
}

/**
 * Bans a wallet. The wallet cannot submit scores and is on no board, its scores do not count in battles and stats of games, its referrer loses the
 * points that it got from these scores, and a job rejects its held scores. The scores, points and completions of the wallet stay as they are, so that
 * the end of the ban loses nothing. Idempotent.
 * @throws 404 when the wallet never signed in
 */
export async function banWallet(app: App, wallet: string, reason: string): Promise<void> {
  await app.tx(async (tx) => {
    const ban = changePlayer(wallet).set({ banned_at: now, ban_reason: reason, scores_voided_at: null }).where('banned_at', 'is', null);
    if ((await run(tx, ban.returning('wallet'))).length > 0) await announce(tx, wallet, 'ban');
    else if (!(await playerExists(tx, wallet))) throw fail(404, 'this wallet never signed in');
    tx.enqueue(applyBan, { wallet });
  });
}

/**
 * Ends the ban of a wallet, which undoes all that the ban changed. Entries, scores and payouts that were refused during the ban stay refused.
 * @throws 404 when the wallet never signed in
 * @throws 409 when the wallet is not banned
 */
export async function unbanWallet(app: App, wallet: string): Promise<void> {
  await app.tx(async (tx) => {
    const unban = changePlayer(wallet).set({ banned_at: null, ban_reason: null, scores_voided_at: null }).where('banned_at', 'is not', null);
    if ((await run(tx, unban.returning('wallet'))).length === 0)
      throw (await playerExists(tx, wallet)) ? fail(409, 'the wallet is not banned') : fail(404, 'this wallet never signed in');
    await holdAgain(tx, wallet);
    await announce(tx, wallet, 'unban');
    // While a wallet is banned, no quest is completed for it.
    await recheckQuests(tx, [wallet]);
  });
}

/**
 * Rejects the held scores of a banned wallet, and takes the wallet off the boards if the last release banned it. After a kill of the process, the
 * retried job does the rest.
 */
export async function finishBan(app: App, wallet: string): Promise<void> {
  await rejectHeldOfBanned(app, wallet);
  await app.tx(async (tx) => {
    const finish = changePlayer(wallet).set({ scores_voided_at: now }).where('banned_at', 'is not', null);
    if ((await run(tx, finish.returning('wallet'))).length === 0) return;
    if ((await tx.query(findAnnounced, [wallet])).length === 0) await announce(tx, wallet, 'ban');
  });
}

/** Enqueues the job again for each banned wallet whose held scores are not all rejected, or that may still be on boards. */
export async function sweepUnfinishedBans(app: App): Promise<void> {
  const wallets = await app.db.query(selectUnfinished);
  await app.tx(async (tx) => {
    for (const { wallet } of wallets) tx.enqueue(applyBan, { wallet });
  });
}
