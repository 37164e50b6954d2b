import { fail } from '#lib/errors.ts';
import { type Queryable, type Statement, statement } from '#platform/db/sql.ts';
import { ROUND_COLUMNS, type RoundRow } from '../rows.ts';

/** Maximum winners that a summary names. */
const NAMED_WINNERS = 3;

/** A round with the data that posts, cards and summaries show: its row and the main results of its draw. */
export interface SharedRound extends RoundRow {
  /** The main results of the draw; null until the round is drawn. */
  readonly result: {
    /** The winning numbers in ascending order; empty in a legacy round. */
    readonly numbers: readonly number[];
    /** The winning ticket's index; null in a chat round. */
    readonly ticket: number | null;
    /** Hex. */
    readonly seed: string;
    /** The winners of the best places, at most `NAMED_WINNERS`, ordered by place. Amounts are in base units. */
    readonly winners: readonly { readonly place: number; readonly wallet: string; readonly amount: string }[];
    /** Number of all winners. */
    readonly won: number;
  } | null;
}

// The CASE makes PostgreSQL compute the result only for finalized rounds. With a join, PostgreSQL could also compute the result of a round that is
// not finalized. The query would then fail, because the audit of this round has no winners.
const SHARED = `select ${ROUND_COLUMNS}, case when r.state = 'finalized' then (
    select json_build_object('numbers', a #> '{draw,numbers}', 'ticket', case when r.kind = 'legacy' then a #> '{draw,drawn,0}' end, 'seed', a #>> '{draw,seed}',
      'winners', (select coalesce(json_agg(json_build_object('place', w -> 'place', 'wallet', w -> 'wallet', 'amount', w #> '{prize,amount}') order by n), '[]')
                  from jsonb_array_elements(a -> 'winners') with ordinality as e(w, n) where n <= ${NAMED_WINNERS}),
      'won', jsonb_array_length(a -> 'winners'))
    from (select r.audit::jsonb as a) audit) end as result
  from rounds r`;
const byId = statement<SharedRound>('read_shared_round', `${SHARED} where r.id = $1`);
const newestIn = (state: 'closing' | 'committed') =>
  `(select id, closed_at from rounds where kind = 'chat' and state = '${state}' order by created_at desc, id desc limit 1)`;
const latestClosed = statement<SharedRound>(
  'read_latest_closed_round',
  `${SHARED} where r.id = (
    select id from (
      (select id, closed_at from rounds where kind = 'chat' and state = 'finalized' order by ended_at desc, id limit 1)
      union all ${newestIn('closing')} union all ${newestIn('committed')}) latest
    order by closed_at desc, id limit 1)`,
);
const active = statement<SharedRound>('read_active_shared_round', `${SHARED} where r.kind = 'chat' and r.state = 'active'`);

/**
 * Reads a round of either kind.
 * @throws 404 when the round does not exist
 */
export const readSharedRound = async (db: Queryable, id: string): Promise<SharedRound> =>
  requireRound(await read(db, byId, [id]), `there is no round ${id}`);

/**
 * Reads the chat round that closed last, whether it is drawn already or not. Before the first round closes, reads the active chat round. Ignores void
 * rounds.
 * @throws 404 when neither exists
 */
export async function readLatestSharedRound(db: Queryable): Promise<SharedRound> {
  return requireRound((await read(db, latestClosed)) ?? (await read(db, active)), 'no chat round is closed or active yet');
}

const read = async (db: Queryable, statement: Statement<SharedRound>, values: readonly unknown[] = []) => (await db.query(statement, values))[0];

function requireRound(round: SharedRound | undefined, message: string): SharedRound {
  if (!round) throw fail(404, message);
  return round;
}
