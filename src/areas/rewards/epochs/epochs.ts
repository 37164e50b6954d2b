import { FORMULA } from '#lib/allocation.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pollUntil } from '#platform/jobs/polling.ts';
import { ON_CHAIN } from '../chain/epoch-accounts.ts';
import { readRules, type StoredRules } from '../config.ts';

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

/** An epoch, as the database returns it. Amounts: base units as text. Times: ISO 8601. Hashes: hex. A field is null while its value is not known. */
export interface Epoch {
  epoch: number;
  status: EpochState;
  source: EpochSource;
  pool: string;
  cap: string | null;
  dust: string;
  expiryDays: number;
  rulesVersion: number;
  formulaVersion: number;
  wallets: number | null;
  points: number | null;
  leaves: number | null;
  total: string | null;
  undistributed: string | null;
  root: string | null;
  createdAt: string;
  computedAt: string | null;
  committedAt: string | null;
  commitSignature: string | null;
  expiresAt: string | null;
  settleRequestedAt: string | null;
  settledAt: string | null;
  /** Null until the transaction that opens the epoch on the chain is finalized. */
  onChain: EpochOnChain | null;
}

/**
 * SQL expression: the present status of an epoch. A committed epoch counts as expired after `expires_at`, even while its row still says `committed`.
 */
export const STATUS = `case when e.state = 'committed' and e.expires_at <= app_now() then 'expired' else e.state end`;

const COLUMNS = `e.epoch, ${STATUS} as status, e.source, e.pool::text, e.cap::text, e.dust::text, e.expiry_days as "expiryDays",
  e.rules_version as "rulesVersion", e.formula as "formulaVersion", e.wallets, e.points::float8 as points, e.leaves, e.total::text,
  e.undistributed::text, encode(e.root, 'hex') as root, ${instant('e.created_at')} as "createdAt", ${instant('e.computed_at')} as "computedAt",
  ${instant('e.committed_at')} as "committedAt", e.commit_signature as "commitSignature", ${instant('e.expires_at')} as "expiresAt",
  ${instant('e.settle_requested_at')} as "settleRequestedAt", ${instant('e.settled_at')} as "settledAt",
  ${ON_CHAIN} as "onChain"`;

const selectEpoch = statement<Epoch>('select_epoch', `select ${COLUMNS} from epochs e where e.epoch = $1`);

/** Returns one epoch, or null when it does not exist. */
export async function readEpoch(db: Queryable, epoch: number): Promise<Epoch | null> {
  return (await db.query(selectEpoch, [epoch]))[0] ?? null;
}

const COMMITTED = `e.state in ('committed', 'expired')`;
const listing = (name: string, where: string, direction: string) =>
  statement<Epoch>(name, `select ${COLUMNS} from epochs e where ${where} order by e.epoch ${direction} limit $1 offset $2`);
const counting = (name: string, where: string) => statement<{ total: number }>(name, `select count(*)::int as total from epochs e where ${where}`);

const lists = {
  all: {
    asc: listing('list_epochs', 'true', 'asc'),
    desc: listing('list_epochs_backwards', 'true', 'desc'),
    count: counting('count_epochs', 'true'),
  },
  committed: {
    asc: listing('list_committed_epochs', COMMITTED, 'asc'),
    desc: listing('list_committed_epochs_backwards', COMMITTED, 'desc'),
    count: counting('count_committed_epochs', COMMITTED),
  },
};

/**
 * Returns one page of epochs in the order of their numbers, and the total number of epochs.
 * @param which filter: `committed` selects only epochs whose root is on the chain and that are not settled off-chain
 */
export async function listEpochs(
  db: Queryable,
  which: keyof typeof lists,
  page: { order: 'asc' | 'desc'; limit: number; offset: number },
): Promise<{ epochs: Epoch[]; total: number }> {
  const { count, [page.order]: list } = lists[which];
  const [epochs, counted] = await Promise.all([db.query(list, [page.limit, page.offset]), db.query(count)]);
  return { epochs, total: counted[0]?.total ?? 0 };
}

const insertEpochs = statement<{ epoch: number }>(
  'insert_epochs',
  `insert into epochs (epoch, source, pool, cap, dust, expiry_days, rules_version, formula)
   select epoch, $2, $3::numeric, $4::numeric, $5::numeric, $6, $7, ${FORMULA} from unnest($1::int[]) as d(epoch) order by epoch
   on conflict do nothing returning epoch`,
);

/**
 * Inserts the rows of new epochs. Skips epochs that exist already, so each day has one epoch.
 * @param under reward rules of the new epochs; by default the rules in force
 * @returns the epochs that were inserted
 */
export async function createEpochs(tx: Tx, epochs: readonly number[], source: EpochSource, under?: StoredRules): Promise<number[]> {
  const { rules, version } = under ?? (await readRules(tx));
  const { pool, cap, dust, expiryDays } = rules;
  const created = await tx.query(insertEpochs, [epochs, source, pool, cap, dust, expiryDays, version]);
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
