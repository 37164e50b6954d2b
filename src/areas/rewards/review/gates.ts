import { type Queryable, statement } from '#platform/db/sql.ts';
import { COUNTED } from '../epochs/snapshot.ts';

/** Number of UTC days, up to and including the day of the epoch, in which `minPlayDays` counts days. */
export const PLAY_DAYS_WINDOW = 30;

/** The conditions in the reward rules that a wallet must meet to get a leaf. 0: the condition is off. */
export interface Gates {
  readonly minPlayDays: number;
  readonly minAcceptedScores: number;
}

/** SQL condition for the ledger rows that make their day a day with points from games. */
const PLAYED = `kind = 'game' and mode = 'regular' and points > 0`;
/** SQL expression for the number of accepted scores of the player `p`. */
const SCORES = `(select coalesce(sum((g.value->>'scores')::int), 0)::int from jsonb_each(coalesce(p.tally->'regular', '{}')) g)`;

/**
 * Returns a query for the wallets with points on a day that do not meet the conditions, each with the public reason. Days with points from games are
 * counted in the ledger, which never changes for a closed day. Accepted scores are counted as they are when the query runs.
 */
export function selectFailing(day: number, { minPlayDays, minAcceptedScores }: Gates): string {
  const [epoch, days, scores] = [day, minPlayDays, minAcceptedScores].map(Math.trunc);
  if (days === 0 && scores === 0) return `select null::wallet as wallet, null::text as reason where false`;
  const played =
    days === 0
      ? 'select null::wallet as wallet, 0 as days where false'
      : `select wallet, count(distinct day) as days from ledger
         where day > ${epoch} - ${PLAY_DAYS_WINDOW} and day <= ${epoch} and ${PLAYED} group by wallet`;
  return `
    select w.wallet, case when coalesce(d.days, 0) < ${days}
      then 'the wallet got points from games on fewer than ${days} of the last ${PLAY_DAYS_WINDOW} days'
      else 'the wallet has fewer than ${scores} accepted scores' end as reason
    from (select wallet from ledger where day = ${epoch} and ${COUNTED} group by wallet having sum(points) > 0) w
    left join (${played}) d on d.wallet = w.wallet
    left join players p on p.wallet = w.wallet
    where coalesce(d.days, 0) < ${days}
      or ${scores} > ${SCORES}`;
}

const selectHistory = statement<{ days: number; scores: number }>(
  'select_history_for_gates',
  `select (select count(distinct day)::int from ledger
      where wallet = $1 and at >= to_timestamp(($2::int - ${PLAY_DAYS_WINDOW - 1}) * 86400.0) and day <= $2::int and ${PLAYED}) as days,
     coalesce((select ${SCORES} from players p where p.wallet = $1), 0) as scores`,
);

/** Returns whether a wallet meets the conditions for the epoch of a day at present. */
export async function meetsGates(db: Queryable, wallet: string, day: number, { minPlayDays, minAcceptedScores }: Gates): Promise<boolean> {
  if (minPlayDays === 0 && minAcceptedScores === 0) return true;
  const { days, scores } = (await db.query(selectHistory, [wallet, day]))[0] ?? { days: 0, scores: 0 };
  return days >= minPlayDays && scores >= minAcceptedScores;
}
