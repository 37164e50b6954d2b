import { coalesce } from '#lib/coalesce.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch, type EpochAccount } from '#platform/solana/distributor/index.ts';
import { type Account, readAccounts } from './accounts.ts';
import { attribute, skipHistory } from './attribute.ts';
import { type Followed, placeOf } from './epoch-accounts.ts';
import { finish } from './finish.ts';

/** Epochs are open for 400 days at most. */
const MOST_FOLLOWED = 1_000;
const ACCOUNTS_AT_ONCE = 100;
const EPOCHS_AT_ONCE = 4;
/** Claims of ours that the history grows by before it is skipped. */
const MOST_UNREAD = 500;

const selectFollowed = statement<Followed>(
  'select_followed_epochs',
  `select a.epoch, a.program, a.authority, a.mint, a.vault, a.address, e.root, e.total::text, e.leaves, a.claimed::text, a.cursor,
     a.cursor_slot::float8 as cursor_slot, a.gaps, a.claims - a.cursor_claims as unread, a.ended_at is not null as ended
   from epoch_accounts a join epochs e on e.epoch = a.epoch
   where a.opened_at is not null and a.closed_at is null and ($1::int is null or a.epoch = $1) order by a.epoch limit ${MOST_FOLLOWED}`,
);
const selectClaimed = statement<{ claimed: string }>('select_claimed_of_epoch', 'select claimed::text from epoch_accounts where epoch = $1');

/**
 * Brings the record to what is final on the chain, for all epochs that may still change: claims by whoever's transaction,
 * settlements, ends. As long as nothing has happened, a hundred epochs are one question. Harmless in any number of processes.
 * @param only one epoch; all of them by default
 */
export async function followEpochs(app: App, only: number | null = null): Promise<void> {
  const followed = await app.db.query(selectFollowed, [only]);
  for (let i = 0; i < followed.length; i += ACCOUNTS_AT_ONCE) {
    const rows = followed.slice(i, i + ACCOUNTS_AT_ONCE);
    const { slot, accounts } = await readAccounts(
      app,
      'finalized',
      rows.map((row) => placeOf(row).account),
    );
    const next = rows.entries();
    await Promise.all(
      Array.from({ length: EPOCHS_AT_ONCE }, async () => {
        for (const [at, row] of next) await followSafely(app, row, { slot, raw: accounts[at] ?? null });
      }),
    );
  }
}

const followers = new WeakMap<App, (epoch: string, ask: number) => Promise<void>>();

/** Follows one epoch; those who ask for it while it is being followed share the next round. */
export function followEpoch(app: App, epoch: number): Promise<void> {
  const follower = followers.get(app) ?? coalesce<number, void>(([first]) => followEpochs(app, first));
  followers.set(app, follower);
  return follower(String(epoch), epoch);
}

/** An account, and the slot that it was read at. */
interface Seen {
  readonly slot: number;
  readonly raw: Account;
}

/** One epoch that cannot be followed does not hold up the others. */
async function followSafely(app: App, row: Followed, seen: Seen): Promise<void> {
  try {
    await follow(app, row, seen);
  } catch (err) {
    app.log.error({ err, epoch: row.epoch }, 'an epoch could not be followed');
  }
}

async function follow(app: App, row: Followed, { slot, raw }: Seen): Promise<void> {
  const account: EpochAccount | null = decodeEpoch(placeOf(row).program, raw);
  // It was opened, finally: this node is behind.
  if (!account) return;
  if (!account.root.equals(row.root) || account.total !== BigInt(row.total)) {
    app.log.error({ epoch: row.epoch, root: account.root.toString('hex') }, 'the chain has another root for an epoch');
    return;
  }
  let known = BigInt(row.claimed);
  if (account.claimed > known) {
    await attribute(app, row, account);
    known = BigInt((await app.db.query(selectClaimed, [row.epoch]))[0]?.claimed ?? '0');
  } else if (account.claimed === known && row.unread >= MOST_UNREAD) await skipHistory(app, row, slot);
  // What is known may be ahead of this node, but never behind when the books are closed.
  if (account.claimed === known && account.state !== 'open') await finish(app, row, account);
}
