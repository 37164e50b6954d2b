import { fail } from '#lib/errors.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readDatabaseClock } from '../rows.ts';
import { type ExclusionRequest, type ExclusionView, MAX_DAYS } from './schemas.ts';

const DAY_MS = 86_400_000;

const COLUMNS = `until > (select app_now()) as excluded, ${instant('since')} as since, ${instant('until')} as until`;
const select = statement<ExclusionView>('select_exclusion', `select ${COLUMNS} from exclusions where wallet = $1`);
const upsert = statement<ExclusionView>(
  'upsert_exclusion',
  `insert into exclusions as x (wallet, since, until) values ($1, $2::timestamptz, $3)
   on conflict (wallet) do update set until = excluded.until, since = case when x.until > excluded.since then x.since else excluded.since end
   where excluded.until >= x.until or x.until <= excluded.since
   returning ${COLUMNS}`,
);

/** Reads the self-exclusion of a wallet. */
export async function readExclusion(db: Queryable, wallet: string): Promise<ExclusionView> {
  return (await db.query(select, [wallet]))[0] ?? { excluded: false, since: null, until: null };
}

/**
 * Excludes a wallet from paid rounds and from rounds with prizes in stablecoin, or prolongs its exclusion.
 * @throws 400 when the end is too near or too far; 409 when the end is before the end of the present exclusion
 */
export async function exclude(tx: Tx, wallet: string, { until, days = 0 }: ExclusionRequest): Promise<ExclusionView> {
  const now = await readDatabaseClock(tx);
  const end = until === undefined ? now + days * DAY_MS : Date.parse(until);
  if (end < now + DAY_MS || end > now + MAX_DAYS * DAY_MS) throw fail(400, `until must be at least 1 and at most ${MAX_DAYS} days ahead`);
  const [exclusion] = await tx.query(upsert, [wallet, new Date(now).toISOString(), new Date(end).toISOString()]);
  if (exclusion) return exclusion;
  const present = await readExclusion(tx, wallet);
  throw fail(409, `until must not be before ${present.until}, because an exclusion can only be prolonged`);
}
