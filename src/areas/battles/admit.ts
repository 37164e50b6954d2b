import type { BattleRefusal } from '#areas/arcade';
import type { Submission } from '#jobs/scores.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';

const selectEntrants = statement<{ gameId: string | null; running: boolean; seated: boolean }>(
  'select_battle_entrants',
  `select b.game_id as "gameId", coalesce(b.state = 'running' and b.due_at > (select app_now()), false) as running, coalesce(s.seated, false) as seated
   from unnest($1::uuid[], $2::text[]) with ordinality as k(battle_id, wallet, n)
   left join lateral (select game_id, state, due_at from battles where id = k.battle_id offset 0) b on true
   left join lateral (select true as seated from battle_seats where battle_id = k.battle_id and wallet = k.wallet offset 0) s on true
   order by k.n`,
);

/**
 * Checks whether each submission that names a battle can count for this battle. Sends no query if no submission names a battle.
 * @returns the errors by submission id; no entry for a submission without an error
 */
export async function admitScores(app: App, submissions: readonly Submission[]): Promise<ReadonlyMap<string, BattleRefusal>> {
  const named = submissions.filter(({ battleId }) => battleId !== null);
  if (named.length === 0) return new Map();
  const entrants = await app.db.query(selectEntrants, [named.map(({ battleId }) => battleId), named.map(({ wallet }) => wallet)]);
  return new Map(
    named.flatMap(({ id, gameId }, i) => {
      const refusal = refusalOf(entrants[i], gameId);
      return refusal ? [[id, refusal] as const] : [];
    }),
  );
}

function refusalOf(entrant: { gameId: string | null; running: boolean; seated: boolean } | undefined, gameId: string): BattleRefusal | null {
  if (!entrant || entrant.gameId === null) return { status: 404, error: 'battleId must be a battle that exists' };
  if (entrant.gameId !== gameId) return { status: 400, error: 'battleId must be a battle of this game' };
  if (!entrant.seated) return { status: 403, error: 'battleId must be a battle that you have joined' };
  if (!entrant.running) return { status: 409, error: 'battleId must be a battle that is running' };
  return null;
}
