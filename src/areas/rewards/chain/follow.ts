import { coalesce } from '#lib/concurrency/coalesce.ts';
import { HttpError } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch, type EpochAccount } from '#platform/solana/distributor/index.ts';
import type { FetchedAccount } from '#platform/solana/primitives.ts';
import { build } from '../query-builder.ts';
import { readAccounts } from './accounts.ts';
import { attributeClaims, skipHistory } from './attribute.ts';
import { addressesOf, type FollowedEpoch } from './epoch-accounts.ts';
import { finishEpoch } from './finish.ts';

/** Maximum epochs per run. An epoch is open for at most 400 days and there is one epoch per day, so one run includes all open epochs. */
const MAX_FOLLOWED = 1_000;
const ACCOUNTS_PER_REQUEST = 100;
const MAX_CONCURRENT_EPOCHS = 4;
/**
 * Number of newly stored claims of an epoch at which the history cursor of the epoch is moved forward. After each move, the count starts at 0 again.
 */
const MAX_UNREAD = 500;

const IS_OPEN = 'a.opened_at is not null and a.closed_at is null';
/** SQL that returns rows while epochs are open on the chain: see `followEpochs`. */
export const FOLLOWED_EPOCHS = `select 1 from epoch_accounts a where ${IS_OPEN}`;
const selectFollowed = statement<FollowedEpoch>(
  'select_followed_epochs',
  `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, coalesce(a.other_root, e.root) as root,
     coalesce(a.other_total, e.total)::text as total, coalesce(a.other_leaves, e.leaves) as leaves, a.other_root is not null as "isOther", a.claimed::text, a.cursor,
     a.cursor_slot::float8 as cursor_slot, a.claims - a.cursor_claims as unread, a.ended_at is not null as ended
   from epoch_accounts a join epochs e on e.epoch = a.epoch
   where ${IS_OPEN} and ($1::int is null or a.epoch = $1) order by a.epoch limit ${MAX_FOLLOWED}`,
);

/**
 * Copies the finalized state of the chain to the database, for all epochs that can still change: claims of any sender, settlements and closings.
 * Several processes may run it concurrently.
 * @param only filter: an epoch number selects this epoch; null selects all epochs
 */
export async function followEpochs(app: App, only: number | null = null): Promise<void> {
  const followed = await app.db.query(selectFollowed, [only]);
  for (let i = 0; i < followed.length; i += ACCOUNTS_PER_REQUEST) {
    const rows = followed.slice(i, i + ACCOUNTS_PER_REQUEST);
    const { slot, accounts } = await readAccounts(
      app,
      'finalized',
      rows.map((row) => addressesOf(row).account),
    );
    const next = rows.entries();
    await Promise.all(
      Array.from({ length: MAX_CONCURRENT_EPOCHS }, async () => {
        for (const [at, row] of next) await followSafely(app, row, { slot, raw: accounts[at] ?? null });
      }),
    );
  }
}

const epochFollower = perApp((app) => coalesce<number, void>(([epoch]) => followEpochs(app, epoch)));

/** Copies the finalized state of one epoch from the chain to the database. Concurrent calls for the same epoch share one run. */
export const followEpoch = (app: App, epoch: number): Promise<void> => app.state(epochFollower)(String(epoch), epoch);

/** The fetched account of an epoch, and the slot at which it was read. */
interface FetchedEpoch {
  readonly slot: number;
  readonly raw: FetchedAccount;
}

/** Calls `follow` and logs an error instead of throwing it, so that the run continues with the other epochs. */
async function followSafely(app: App, row: FollowedEpoch, seen: FetchedEpoch): Promise<void> {
  try {
    await follow(app, row, seen);
  } catch (err) {
    app.log.error({ err, epoch: row.epoch }, 'an epoch cannot be compared with the chain; the next run tries again');
  }
}

async function follow(app: App, row: FollowedEpoch, { slot, raw }: FetchedEpoch): Promise<void> {
  const account: EpochAccount | null = decodeEpoch(addressesOf(row).program, raw);
  // The epoch account exists on the finalized chain. So if this RPC node does not return the account, the node lags behind.
  if (!account) return;
  if (!account.root.equals(row.root) || account.total !== BigInt(row.total)) {
    app.log.error(
      { epoch: row.epoch, root: account.root.toString('hex') },
      'the root or total of an epoch on the chain differs from the database; the epoch is not followed',
    );
    return;
  }
  const hasNews = account.claimed > BigInt(row.claimed) || account.state !== 'open';
  if (hasNews && !(await isOnSecond(app, row, account))) return;
  if (row.isOther) return await followOther(app, row, account);
  let known = BigInt(row.claimed);
  if (account.claimed > known) {
    await attributeClaims(app, row, account);
    const [now] = await run(app.db, build.selectFrom('epoch_accounts').select('claimed').where('epoch', '=', row.epoch));
    known = BigInt(now?.claimed ?? '0');
  } else if (account.claimed === known && row.unread >= MAX_UNREAD) await skipHistory(app, row, slot);
  // The database may have newer claims than this RPC node. So the epoch is finished only when the database and the account have the same claimed
  // amount.
  if (account.claimed === known && account.state !== 'open') await finishEpoch(app, row, account);
}

/** Returns whether the second RPC node, if one is configured, shows the claims and the state of an account too. While it does not answer, the epoch waits. */
async function isOnSecond(app: App, row: FollowedEpoch, account: EpochAccount): Promise<boolean> {
  const { second } = app.chain;
  if (second === null) return true;
  const { account: address, program } = addressesOf(row);
  try {
    const other = decodeEpoch(program, (await second.account(address, 'finalized')).account);
    return other !== null && other.claimed >= account.claimed && other.state === account.state;
  } catch (err) {
    if (!(err instanceof HttpError)) throw err;
    app.log.warn({ err, epoch: row.epoch }, 'the second RPC node does not answer; the epoch is read in the next run');
    return false;
  }
}

/**
 * Copies the state of an account with another root than the epoch. Stores only the sum of its claims, because the database does not have the leaves
 * that were claimed.
 */
async function followOther(app: App, row: FollowedEpoch, account: EpochAccount): Promise<void> {
  if (account.state === 'open') return;
  const update = build.updateTable('epoch_accounts').set({ claimed: String(account.claimed) });
  await app.tx((tx) => run(tx, update.where('epoch', '=', row.epoch).where('other_root', 'is not', null)));
  await finishEpoch(app, row, account);
}
