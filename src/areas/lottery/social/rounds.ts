import { fail } from '#lib/errors.ts';
import { type Queryable, type Statement, statement } from '#platform/db/sql.ts';
import { ROUND_COLUMNS, type RoundRow } from '../rows.ts';

/** Winners that a summary names; the others are counted. */
export const NAMED_WINNERS = 3;

/** A round as it is told of elsewhere: its row, and of the draw what one wants to know at once. */
export interface SharedRound extends RoundRow {
  /** null until it is drawn. */
  readonly result: {
    /** Ascending; none in a legacy round. */
    readonly numbers: readonly number[];
    /** The winning ticket's index; null in a chat round. */
    readonly ticket: number | null;
    /** Hex. */
    readonly seed: string;
    /** First place first, a few of them; amounts in base units. */
    readonly winners: readonly { readonly place: number; readonly wallet: string; readonly amount: string }[];
    readonly won: number;
  } | null;
}

// Asked in a CASE: a join may be planned so that the result is made before the state is looked at, and an audit without winners has none to list.
const SHARED = `select ${ROUND_COLUMNS}, case when r.state = 'finalized' then (
    select json_build_object('numbers', a #> '{draw,numbers}', 'ticket', case when r.kind = 'legacy' then a #> '{draw,drawn,0}' end, 'seed', a #>> '{draw,seed}',
      'winners', (select coalesce(json_agg(json_build_object('place', w -> 'place', 'wallet', w -> 'wallet', 'amount', w #> '{prize,amount}') order by n), '[]')
                  from jsonb_array_elements(a -> 'winners') with ordinality as e(w, n) where n <= ${NAMED_WINNERS}),
      'won', jsonb_array_length(a -> 'winners'))
    from (select r.audit::jsonb as a) audit) end as result
  from rounds r`;
const byId = statement<SharedRound>('read_shared_round', `${SHARED} where r.id = $1`);
const latestFinalized = statement<SharedRound>(
  'read_latest_finalized_round',
  `${SHARED} where r.id = (select id from rounds where kind = 'chat' and state = 'finalized' order by ended_at desc, id limit 1)`,
);
const active = statement<SharedRound>('read_active_shared_round', `${SHARED} where r.kind = 'chat' and r.state = 'active'`);

/** A round of either kind. @throws 404 */
export const readShared = async (db: Queryable, id: string): Promise<SharedRound> => found(await read(db, byId, [id]), `there is no round ${id}`);

/** The chat round that was drawn last; before the first one, that which is active. @throws 404 where there is neither */
export async function readLatest(db: Queryable): Promise<SharedRound> {
  return found((await read(db, latestFinalized)) ?? (await read(db, active)), 'there is no round yet');
}

const read = async (db: Queryable, statement: Statement<SharedRound>, values: readonly unknown[] = []) => (await db.query(statement, values))[0];

function found(round: SharedRound | undefined, otherwise: string): SharedRound {
  if (!round) throw fail(404, otherwise);
  return round;
}
