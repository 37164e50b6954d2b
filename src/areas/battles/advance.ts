import { tryBattleAlone } from '#areas/arcade';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { battleResult } from './events.ts';
import { COUNTED } from './tally.ts';

/** Battles of one transaction. */
const MOST = 100;

export const findDue = statement<{ one: number }>(
  'find_due_battles',
  `select 1 as one from battles where state in ('open', 'running') and due_at <= (select app_now()) limit 1`,
);
export const expire = statement<{ id: string }>(
  'expire_battles',
  `with due as (
     select id from battles where state = 'open' and due_at <= (select app_now()) order by due_at limit ${MOST} for update skip locked)
   update battles b set state = 'expired', ended_at = app_now() from due where b.id = due.id returning b.id`,
);

// Who appends an activity that names a battle holds its lock before the activity's time is read: once the battle is had alone after its end,
// all that was accepted before is committed. A battle that is not had is tried again; nobody new comes in.
export const takeEnded = statement<{ id: string; gameId: string; alone: boolean }>(
  'take_ended_battles',
  `with due as materialized (
     select id, game_id from battles where state = 'running' and due_at <= (select app_now()) order by due_at limit ${MOST} for update skip locked)
   select id, game_id as "gameId", ${tryBattleAlone('id')} as alone from due`,
);
export const decide = statement<{ battleId: string; wallet: string; score: number | null; place: number | null }>(
  'decide_battles',
  `with tally as materialized (
     select t.battle_id, t.wallet, c.best, c.scores from unnest($1::uuid[]) as k(id)
     cross join lateral (select id, started_at, due_at from battles where id = k.id offset 0) b
     cross join lateral (select battle_id, wallet from battle_seats where battle_id = k.id offset 0) t
     cross join lateral (select max(s.normalized) as best, count(*)::int as scores ${COUNTED}) c)
   update battle_seats t set best = r.best, scores = r.scores, place = r.place from (
     select *, case when best is not null then rank() over (partition by battle_id order by best desc nulls last) end as place from tally) r
   where t.battle_id = r.battle_id and t.wallet = r.wallet
   returning t.battle_id as "battleId", t.wallet, t.best as score, t.place`,
);
export const finish = statement(
  'finish_battles',
  `update battles b set state = 'finished', ended_at = app_now() from unnest($1::uuid[]) as k(id) where b.id = k.id`,
);

/**
 * Takes battles further whose time has come: open ones expire, running ones get their result. In any number of processes, killed anywhere: a
 * battle's result and its event are one commit.
 */
export async function advanceBattles(app: App): Promise<void> {
  if ((await app.db.query(findDue)).length === 0) return;
  while ((await app.tx((tx) => tx.query(expire))).length === MOST);
  while ((await finishEnded(app)) === MOST);
}

/** @returns how many have got their result */
async function finishEnded(app: App): Promise<number> {
  return await app.tx(async (tx) => {
    const ended = (await tx.query(takeEnded)).filter(({ alone }) => alone);
    if (ended.length === 0) return 0;
    const ids = [ended.map(({ id }) => id)];
    const [seats] = await Promise.all([tx.query(decide, ids), tx.query(finish, ids)]);
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

interface Placed {
  readonly wallet: string;
  readonly place: number | null;
}
/** Best first, who did not score last; ties by address, descending. */
const byPlace = (a: Placed, b: Placed): number =>
  (a.place ?? Number.MAX_SAFE_INTEGER) - (b.place ?? Number.MAX_SAFE_INTEGER) || (a.wallet < b.wallet ? 1 : -1);
