import { FORMULA } from '#lib/allocation.ts';
import type { App } from '#platform/app.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { ON_CHAIN } from './chain/epoch-accounts.ts';
import { readRules, type StoredRules } from './config.ts';

export const EPOCH_STATES = ['computing', 'empty', 'computed', 'committed', 'expired', 'settled'] as const;
export type EpochState = (typeof EPOCH_STATES)[number];
export const EPOCH_SOURCES = ['computed', 'import'] as const;
export type EpochSource = (typeof EPOCH_SOURCES)[number];

/** Where an epoch is on the chain, and what of it has been claimed, finally. */
export interface OnChain {
  program: string;
  authority: string;
  mint: string;
  account: string;
  vault: string;
  claimed: string;
  claims: number;
}

/** An epoch as it is shown. Amounts are base units as text, times ISO 8601, hashes hex; null is what is not known yet. */
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
  /** Null until its root is on the chain, finally. */
  onChain: OnChain | null;
}

/** A time column as ISO 8601. */

/** What an epoch is by now: one whose time is up has expired, whoever notices it first. */
export const STATE = `case when e.state = 'committed' and e.expires_at <= app_now() then 'expired' else e.state end`;

const COLUMNS = `e.epoch, ${STATE} as status, e.source, e.pool::text, e.cap::text, e.dust::text, e.expiry_days as "expiryDays",
  e.rules_version as "rulesVersion", e.formula as "formulaVersion", e.wallets, e.points::float8 as points, e.leaves, e.total::text,
  e.undistributed::text, encode(e.root, 'hex') as root, ${instant('e.created_at')} as "createdAt", ${instant('e.computed_at')} as "computedAt",
  ${instant('e.committed_at')} as "committedAt", e.commit_signature as "commitSignature", ${instant('e.expires_at')} as "expiresAt",
  ${instant('e.settle_requested_at')} as "settleRequestedAt", ${instant('e.settled_at')} as "settledAt",
  ${ON_CHAIN} as "onChain"`;

const selectEpoch = statement<Epoch>('select_epoch', `select ${COLUMNS} from epochs e where e.epoch = $1`);

/** One epoch, or null. */
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

/** A page of epochs by their numbers: all, or those whose root is on the chain and that are not settled. */
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
 * Begins epochs: makes their rows, of which there is one per day whoever comes first.
 * @param under the rules that they are under; those in force, unless somebody has decided by some already
 * @returns those that were not there yet
 */
export async function beginEpochs(tx: Tx, epochs: readonly number[], source: EpochSource, under?: StoredRules): Promise<number[]> {
  const { rules, version } = under ?? (await readRules(tx));
  const { pool, cap, dust, expiryDays } = rules;
  const begun = await tx.query(insertEpochs, [epochs, source, pool, cap, dust, expiryDays, version]);
  return begun.map(({ epoch }) => epoch);
}

const selectToday = statement<{ day: number }>('select_reward_day', 'select app_day() as day');

/** The running UTC day, by the clock that decides. */
export async function runningDay(db: Queryable): Promise<number> {
  const row = (await db.query(selectToday))[0];
  if (!row) throw new Error('the database told no day');
  return row.day;
}

/** How often a request that waits for an epoch looks at it, ms. */
const LOOK_MS = 100;

/** Waits, outside any transaction, until an epoch is no longer being computed. @returns it as it is then, or after `withinMs` */
export async function awaitEpoch(app: App, epoch: number, withinMs: number): Promise<Epoch | null> {
  const until = performance.now() + withinMs;
  for (;;) {
    const found = await readEpoch(app.db, epoch);
    if (found?.status !== 'computing' || performance.now() >= until) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
