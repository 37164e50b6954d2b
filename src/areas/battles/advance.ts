import { sql } from 'kysely';
import { tryLockBattle } from '#areas/arcade';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { battleExpired, battleResult } from './events.ts';
import { build } from './rows.ts';
import { SCORES_OF_RESULT } from './tally.ts';

/** Maximum battles per transaction. */
const MAX_BATTLES = 100;

/** SQL: the battles whose time is over. */
export const DUE_BATTLES = `select 1 as one from battles where state in ('open', 'running') and due_at <= (select app_now())`;
const selectDue = statement<{ one: number }>('find_due_battles', `${DUE_BATTLES} limit 1`);
const expire = statement<{ battleId: string; gameId: string }>(
  'expire_battles',
  `with due as (
     select id from battles where state = 'open' and due_at <= (select app_now()) order by due_at limit ${MAX_BATTLES} for update skip locked)
   update battles b set state = 'expired', ended_at = app_now() from due where b.id = due.id returning b.id as "battleId", b.game_id as "gameId"`,
);

// Takes the exclusive lock of each battle that is over. Every transaction that appends a score of a battle takes the shared lock of the battle before
// PostgreSQL sets the time of the score. So while this transaction holds the exclusive lock, every score that was accepted before the end of the
// battle is committed. If another transaction holds the lock, the next run retries the battle.
const takeEnded = statement<{ id: string; gameId: string; alone: boolean }>(
  'take_ended_battles',
  `with due as materialized (
     select id, game_id from battles where state = 'running' and due_at <= (select app_now()) order by due_at limit ${MAX_BATTLES} for update skip locked)
   select id, game_id as "gameId", ${tryLockBattle('id')} as alone from due`,
);
const decide = statement<{ battleId: string; wallet: string; score: number | null; place: number | null }>(
  'decide_battles',
  `with tally as materialized (
     select t.battle_id, t.wallet, c.best, c.scores from unnest($1::uuid[]) as k(id)
     cross join lateral (select id, started_at, due_at from battles where id = k.id offset 0) b
     cross join lateral (select battle_id, wallet from battle_seats where battle_id = k.id offset 0) t
     cross join lateral (select max(s.normalized) as best, count(*)::int as scores ${SCORES_OF_RESULT}) c)
   update battle_seats t set best = r.best, scores = r.scores, place = r.place from (
     select *, case when best is not null then rank() over (partition by battle_id order by best desc nulls last) end as place from tally) r
   where t.battle_id = r.battle_id and t.wallet = r.wallet
   returning t.battle_id as "battleId", t.wallet, t.best as score, t.place`,
);

/**
 * Expires open battles and finishes running battles whose time is over. May run in several processes at once. If a process is killed, no event is
 * lost, because one commit stores the result of a battle and the event about this result.
 */
export async function advanceBattles(app: App): Promise<void> {
  if ((await app.db.query(selectDue)).length === 0) return;
  while ((await app.tx(expireOpen)) === MAX_BATTLES);
  while ((await finishEnded(app)) === MAX_BATTLES);
}

/** Expires open battles whose time is over. @returns number of expired battles */
async function expireOpen(tx: Tx): Promise<number> {
  const expired = await tx.query(expire);
  tx.emitAll(battleExpired, expired);
  return expired.length;
}

/** Finishes running battles whose time is over. @returns number of finished battles */
async function finishEnded(app: App): Promise<number> {
  return await app.tx(async (tx) => {
    const ended = (await tx.query(takeEnded)).filter(({ alone }) => alone);
    if (ended.length === 0) return 0;
    const ids = ended.map(({ id }) => id);
    const finish = build.updateTable('battles').set({ state: 'finished', ended_at: sql`app_now()` }).where('id', 'in', ids);
    const [seats] = await Promise.all([tx.query(decide, [ids]), run(tx, finish)]);
    const byBattle = Map.groupBy(seats, ({ battleId }) => battleId);
    tx.emitAll(
      battleResult,
      ended.map(({ id, gameId }) => {
        const results = (byBattle.get(id) ?? []).map(({ wallet, place, score }) => ({ wallet, place, score })).sort(byPlace);
        return { battleId: id, gameId, winners: results.filter(({ place }) => place === 1).map(({ wallet }) => wallet), results };
      }),
    );
    return ended.length;
  });
}

interface SeatPlace {
  readonly wallet: string;
  readonly place: number | null;
}
/** Orders the seats of a result by place, with the seats without a score last. Seats with the same place are ordered by address, descending. */
const byPlace = (a: SeatPlace, b: SeatPlace): number =>
  (a.place ?? Number.MAX_SAFE_INTEGER) - (b.place ?? Number.MAX_SAFE_INTEGER) || (a.wallet < b.wallet ? 1 : -1);
