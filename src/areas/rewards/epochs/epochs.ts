import { type InferResult, sql } from 'kysely';
import { FORMULA } from '#lib/allocation.ts';
import type { App } from '#platform/app.ts';
import { isoInstant, placeholder, prepared, run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { ON_CHAIN } from '../chain/epoch-accounts.ts';
import { readRules, type StoredRules } from '../config.ts';
import { build } from '../query-builder.ts';

export const EPOCH_STATES = ['computing', 'empty', 'computed', 'committed', 'expired', 'settled'] as const;
export type EpochState = (typeof EPOCH_STATES)[number];
export const EPOCH_SOURCES = ['computed', 'import'] as const;
export type EpochSource = (typeof EPOCH_SOURCES)[number];

/** The addresses of an epoch on the chain, and the sum and number of its finalized claims, as the API returns them. */
interface EpochOnChain {
  program: string;
  authority: string;
  mint: string;
  account: string;
  vault: string;
  claimed: string;
  claims: number;
}

/**
 * SQL expression: the present status of an epoch. A committed epoch counts as expired after `expires_at`, even while its row still says `committed`.
 */
export const STATUS = `case when e.state = 'committed' and e.expires_at <= (select app_now()) then 'expired' else e.state end`;

const iso = isoInstant<string | null>;
/** Selects epochs as the API returns them. Amounts: base units as text. Times: ISO 8601. Hashes: hex. A field is null while its value is not known. */
const epochs = build
  .selectFrom('epochs as e')
  .select(['e.epoch', 'e.source', 'e.pool', 'e.cap', 'e.dust', 'e.expiry_days as expiryDays', 'e.rules_version as rulesVersion'])
  .select(['e.formula as formulaVersion', 'e.wallets', 'e.leaves', 'e.total', 'e.undistributed', 'e.commit_signature as commitSignature'])
  .select([iso('e.computed_at').as('computedAt'), iso('e.committed_at').as('committedAt'), iso('e.expires_at').as('expiresAt')])
  .select(['e.allocation', 'e.min_play_days as minPlayDays', 'e.min_accepted_scores as minAcceptedScores'])
  .select([iso('e.review_ends_at').as('reviewEndsAt'), sql<boolean>`e.exclusions_changed_at is not null`.as('allocationPending')])
  .select([iso('e.settle_requested_at').as('settleRequestedAt'), iso('e.settled_at').as('settledAt'), isoInstant('e.created_at').as('createdAt')])
  .select(({ cast }) => [
    cast<number | null>('e.points', 'float8').as('points'),
    sql<string | null>`encode(e.root, 'hex')`.as('root'),
    sql<string | null>`encode(e.points_hash, 'hex')`.as('pointsHash'),
    sql<EpochState>`${sql.raw(STATUS)}`.as('status'),
    // Null until the transaction that opens the epoch on the chain is finalized.
    sql<EpochOnChain | null>`${sql.raw(ON_CHAIN)}`.as('onChain'),
  ]);
export type Epoch = InferResult<typeof epochs>[number];

// Named, because each wait for an epoch runs this query repeatedly.
const selectEpoch = prepared('select_epoch', epochs.where('e.epoch', '=', placeholder<number>(1)));

/** Returns one epoch, or null when it does not exist. */
export async function readEpoch(db: Queryable, epoch: number): Promise<Epoch | null> {
  return (await db.query(selectEpoch, [epoch]))[0] ?? null;
}

/** Returns whether the allocation of an epoch can still be replaced by another one. The allocation of an imported epoch never changes. */
export const mayChange = ({ source, status }: Pick<Epoch, 'source' | 'status'>): boolean =>
  source === 'computed' && (status === 'computing' || status === 'computed' || status === 'empty');

/**
 * Returns one page of epochs in the order of their numbers, and the total number of epochs.
 * @param which filter: `committed` selects only epochs whose root is on the chain and that are not settled off-chain
 */
export async function listEpochs(
  db: Queryable,
  which: 'all' | 'committed',
  { order, limit, offset }: { order: 'asc' | 'desc'; limit: number; offset: number },
): Promise<{ epochs: Epoch[]; total: number }> {
  const page = epochs.orderBy('e.epoch', order).limit(limit).offset(offset);
  const count = build.selectFrom('epochs').select(sql<number>`count(*)::int`.as('total'));
  const condition = which === 'all' ? sql<boolean>`true` : sql<boolean>`state in ('committed', 'expired')`;
  const [rows, counted] = await Promise.all([run(db, page.where(condition)), run(db, count.where(condition))]);
  return { epochs: rows, total: counted[0]?.total ?? 0 };
}

const insertEpochs = statement<{ epoch: number }>(
  'insert_epochs',
  `insert into epochs (epoch, source, pool, cap, dust, expiry_days, rules_version, min_play_days, min_accepted_scores, formula)
   select epoch, $2, $3::numeric, $4::numeric, $5::numeric, $6, $7, $8::smallint, $9::int, ${FORMULA} from unnest($1::int[]) as d(epoch) order by epoch
   on conflict do nothing returning epoch`,
);

/**
 * Inserts the rows of new epochs. Skips epochs that exist already, so each day has one epoch.
 * @param under reward rules of the new epochs; by default the rules in force
 * @returns the epochs that were inserted
 */
export async function createEpochs(tx: Tx, epochs: readonly number[], source: EpochSource, under?: StoredRules): Promise<number[]> {
  const { rules, version } = under ?? (await readRules(tx));
  const { pool, cap, dust, expiryDays, minPlayDays, minAcceptedScores } = rules;
  const created = await tx.query(insertEpochs, [epochs, source, pool, cap, dust, expiryDays, version, minPlayDays, minAcceptedScores]);
  return created.map(({ epoch }) => epoch);
}

const selectCurrentDay = statement<{ day: number }>('select_reward_day', 'select app_day() as day');

/** Returns the current day by the clock of the database: UTC days since 1970-01-01. */
export async function currentDay(db: Queryable): Promise<number> {
  const row = (await db.query(selectCurrentDay))[0];
  if (!row) throw new Error('the database returned no row with the current day');
  return row.day;
}

// Returns an entry for a missing epoch too, because the wait must also end when an import is refused and its epoch is deleted.
const pollEpoch = pollUntil(
  (app, ids) => Promise.all(ids.map(async (id) => ({ id, epoch: await readEpoch(app.db, Number(id)) }))),
  ({ epoch }) => epoch?.status !== 'computing',
);

/**
 * Waits until an epoch is no longer in the state `computing`. Precondition: the caller has no open transaction.
 * @param withinMs maximum wait, ms
 * @returns the epoch at the end of the wait; null when it does not exist
 */
export async function awaitEpoch(app: App, epoch: number, withinMs: number): Promise<Epoch | null> {
  return (await pollEpoch(app, String(epoch), withinMs))?.epoch ?? null;
}
