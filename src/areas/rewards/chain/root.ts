import { type InferResult, type NotNull, sql } from 'kysely';
import { lockTreasury, readObligations, readOutflowMarker } from '#areas/lottery';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import {
  decodeEpoch,
  EPOCH_BYTES,
  type EpochAccount,
  epochAddress,
  openEpoch,
  readDistributor,
  vaultAddress,
} from '#platform/solana/distributor/index.ts';
import type { Address, FetchedAccount } from '#platform/solana/primitives.ts';
import {
  type ChainError,
  type ComposeOutcome,
  type PendingSpend,
  selectPause,
  type TransactionDraft,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  decodeMint,
  decodeTokenAccount,
  memo,
  TOKEN_ACCOUNT_BYTES,
  transferChecked,
} from '#platform/solana/tokens.ts';
import { epochCommitted } from '../events.ts';
import { build } from '../query-builder.ts';
import { noteRestore, ROOTS_SCOPE } from '../restores/reconcile.ts';
import { refuseOldBans } from '../review/bans.ts';
import { isRootSigned } from '../review/openness.ts';
import { readAccounts, rentOf } from './accounts.ts';
import { addressesOf, type EpochAddresses, type EpochAddressesRow, holdAddress, lockSignedAddresses } from './epoch-accounts.ts';
import { findOpening } from './history.ts';
import { compareMemo, memoOf } from './opening-memo.ts';
import { SETTLED_ERROR } from './settlement.ts';

/** Delay before a retry when the root transaction cannot be sent at present, ms. */
const REFUSED_RETRY_MS = 30_000;
/** Delay before a retry when the epoch account exists but is not finalized yet, ms. */
const RETRY_MS = 1_000;

/** The error with which the root of an epoch fails when all its wallets were excluded after its review. */
const EMPTY_ERROR: ChainError = { name: 'Empty', message: 'all wallets of the epoch are excluded', instruction: null, code: null };

/**
 * Builds the query for an epoch. The root, the total and the number of leaves are typed as not null, because `compose` reads them only of a computed
 * epoch. A computed epoch has these values (checks of the table `epochs`).
 */
const selectEpoch = (epoch: number) =>
  build
    .selectFrom('epochs')
    .select(['state', 'source', 'root', 'total', 'leaves', 'points_hash', 'points_bytes', 'commit_signature as signature'])
    .select([sql<boolean>`settle_requested_at is not null`.as('settling'), sql<boolean>`exclusions_changed_at is not null`.as('changing')])
    .where('epoch', '=', epoch)
    .$narrowType<{ root: NotNull; total: NotNull; leaves: NotNull }>();
type EpochRow = InferResult<ReturnType<typeof selectEpoch>>[number];

// Adds 3 hours to the configured days, because the expiry is rounded down to the hour and the epoch opens some time after this statement. Keeps the
// stored expiry if it is at most one hour earlier than the newly computed expiry, so that two concurrent processes use the same expiry.
const upsertEpochAccounts = statement<EpochAddressesRow & { expiry: number }>(
  'upsert_epoch_accounts',
  `insert into epoch_accounts as a (epoch, program, authority, mint, address, vault, expires_at)
   select epoch, $2, $3, $4, $5, $6, date_trunc('hour', app_now()) + make_interval(days => expiry_days, hours => 3) from epochs where epoch = $1
   on conflict (epoch) do update set program = excluded.program, authority = excluded.authority, mint = excluded.mint, address = excluded.address,
     vault = excluded.vault,
     expires_at = case when a.expires_at >= excluded.expires_at - interval '1 hour' then a.expires_at else excluded.expires_at end
   where a.opened_at is null
   returning epoch, program, authority, mint, address, vault, extract(epoch from expires_at)::float8 as expiry`,
);

const lockEpochs = statement<{ root: Buffer | null }>(
  'lock_epochs_to_commit',
  `select root from epochs where epoch = any($1::int[]) and state = 'computed' and settle_requested_at is null and exclusions_changed_at is null
     and coalesce(review_ends_at <= (select app_now()), true) order by epoch for share`,
);

interface Committed {
  epoch: number;
  root: string;
  total: string;
  leaves: number;
  signature: string | null;
  expires_at: string;
}
const commitEpochs = statement<Committed>(
  'commit_epochs',
  `with landed as (select * from unnest($1::int[], $2::text[]) as l(epoch, signature)),
   opened as (
     update epoch_accounts a set opened_at = app_now() from landed l where a.epoch = l.epoch and a.opened_at is null returning a.epoch, a.expires_at)
   update epochs e set state = 'committed', commit_signature = l.signature, committed_at = app_now(), expires_at = o.expires_at
   from landed l join opened o on o.epoch = l.epoch where e.epoch = l.epoch and e.state = 'computed'
   returning e.epoch, encode(e.root, 'hex') as root, e.total::text, e.leaves, l.signature,
     ${instant('o.expires_at')} as expires_at`,
);

/**
 * The transaction type that opens an epoch on the chain. One transaction creates the vault, transfers the total of the epoch to the vault, stores the
 * Merkle root, and states the hash of the points file in a memo. Each epoch has one account address, so the epoch cannot be opened twice.
 */
export const epochRoot: TransactionType = {
  name: 'epoch-root',
  scope: ROOTS_SCOPE,
  priority: 'roots',
  afterFailure: 'again',
  maxLive: 3,
  compose,
  // The root transaction is retried until it lands, because every computed epoch must reach the chain. The error in the log alerts operators.
  async simulationFailed(app, subject, error) {
    app.log.error({ epoch: subject, error }, 'the simulation of the root transaction of an epoch failed; the transaction is retried');
    return { do: 'wait', ms: REFUSED_RETRY_MS, reason: error.message };
  },
  async signed(tx, attempts) {
    for (const { subject, draft } of attempts) {
      const composed = composedDrafts.get(draft);
      await composed?.check(tx);
      // After this lock, the exclusions of the epoch change only when this transaction is over, and are refused when it committed.
      const [locked] = await tx.query(lockEpochs, [[Number(subject)]]);
      if (!locked) throw fail(409, `epoch ${subject} is settled or committed already, or its review is not over`);
      if (composed) await holdAddress(tx, Number(subject), composed.address);
      if (composed && (locked.root === null || !composed.root.equals(locked.root)))
        throw fail(409, `the allocation of epoch ${subject} changed after the transaction was composed`);
      // After the first signature the exclusions never change, so a further attempt signs the same root although the bans changed.
      if (!(await isRootSigned(tx, Number(subject)))) await refuseOldBans(tx, Number(subject));
    }
  },
  async finalized(tx, landings) {
    const epochs = landings.map(({ subject }) => Number(subject));
    for (const row of await tx.query(commitEpochs, [epochs, landings.map(({ signature }) => signature)])) {
      const { epoch, root, total, leaves, signature, expires_at } = row;
      tx.emit(epochCommitted, { epoch, root, total, leaves, signature, expiresAt: expires_at });
    }
  },
  // The transaction type `epochSettle` settles an epoch whose root failed because a settlement was requested.
  failed: async () => undefined,
};

async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  // The database may have been restored since this process started.
  await noteRestore(app);
  const paused = (await app.db.query(selectPause, [ROOTS_SCOPE]))[0];
  if (paused) return { do: 'wait', ms: REFUSED_RETRY_MS, reason: paused.reason };
  const [epoch] = await run(app.db, selectEpoch(Number(subject)));
  if (!epoch) return { do: 'manual', reason: `epoch ${subject} does not exist` };
  if (epoch.state === 'settled') return { do: 'fail', error: SETTLED_ERROR };
  if (epoch.state === 'empty') return { do: 'fail', error: EMPTY_ERROR };
  if (epoch.changing) return { do: 'wait', ms: RETRY_MS, reason: 'the exclusions of the epoch changed, and its allocation is being computed anew' };
  if (epoch.state !== 'computed') return { do: 'done', signature: epoch.signature, slot: null };
  const { addresses, expiry } = await chooseAddresses(app, Number(subject));
  const treasury = app.chain.key('treasury').publicKey;
  const from = associatedTokenAddress(treasury, addresses.mint);
  const since = await readOutflowMarker(app);
  const { accounts } = await readAccounts(app, 'confirmed', [addresses.account, addresses.vault, from, addresses.mint]);
  const [account = null, vault = null, source = null, mint = null] = accounts;

  const existing = decodeEpoch(addresses.program, account);
  if (existing) return await confirmOpened(app, addresses, epoch, existing);
  if (epoch.settling) return { do: 'fail', error: SETTLED_ERROR };
  const { problem } = await readDistributor(app.chain.node, addresses.program, app.config.chain.upgradeAuthority);
  if (problem !== null) {
    app.log.error({ program: addresses.program.toBase58(), problem }, 'no epoch is opened until the distributor program is right');
    return { do: 'wait', ms: REFUSED_RETRY_MS, reason: problem };
  }
  const total = BigInt(epoch.total);
  const held = decodeTokenAccount(source)?.amount ?? 0n;
  // The tokens that a live attempt of this epoch has reserved are free for a further attempt, because only one of them can land.
  const isOwn = (spend: PendingSpend) => spend.type === epochRoot.name && spend.subject === subject;
  const free = async (db: Queryable) => held - (await readObligations(app, db, 'reward', since, isOwn));
  const left = await free(app.db);
  if (left < total) {
    app.log.error(
      { epoch: subject, held: String(held), free: String(left), total: epoch.total },
      'the treasury has fewer unreserved tokens than an epoch needs; the root transaction is retried',
    );
    const reason = `the epoch needs ${total} base units; the treasury holds ${held}, of which ${left} are not reserved for rounds or payments`;
    return { do: 'wait', ms: REFUSED_RETRY_MS, reason };
  }
  const token = decodeMint(mint);
  if (!token) return { do: 'manual', reason: `${addresses.mint.toBase58()} is not an SPL mint` };
  const open = { total, expiry, decimals: token.decimals, from, treasury, isVaultThere: vault !== null, memo: memoOf(addresses.epoch, epoch) };
  const drafted = await draft(app, addresses, { ...epoch, ...open });
  const check = async (tx: Tx) => {
    await lockTreasury(tx);
    if ((await free(tx)) < total) throw fail(409, `the tokens for epoch ${subject} were reserved for a round or payment at the same time`);
  };
  composedDrafts.set(drafted, { root: epoch.root, address: addresses.account.toBase58(), check });
  return drafted;
}

interface ComposedDraft {
  /** The root that the draft stores on the chain. */
  readonly root: Buffer;
  /** The address at which the draft opens the epoch, base58. */
  readonly address: string;
  /**
   * Runs in the database transaction that signs the draft. Throws 409 when a lottery round or a payment has reserved tokens that the epoch needs since
   * the draft was composed.
   */
  check(tx: Tx): Promise<void>;
}

/** The root and the check of each composed transaction draft. */
const composedDrafts = new WeakMap<TransactionDraft, ComposedDraft>();

/**
 * Stores and returns the addresses and the expiry of an epoch; those of a signed root that may still land stay. Precondition: the epoch was not opened
 * on the chain.
 */
async function chooseAddresses(app: App, epoch: number): Promise<{ addresses: EpochAddresses; expiry: number }> {
  const { programId: program, rewardMint: mint } = app.chain;
  const authority = app.chain.key('epochAuthority').publicKey;
  const address = epochAddress(program, authority, mint, BigInt(epoch));
  const values = [epoch, ...[program, authority, mint, address, vaultAddress(address, mint)].map((key) => key.toBase58())];
  const row = await app.tx(async (tx) => (await lockSignedAddresses(tx, epoch)) ?? (await tx.query(upsertEpochAccounts, values))[0]);
  if (!row) throw fail(409, `epoch ${epoch} is open on the chain already`);
  return { addresses: addressesOf(row), expiry: row.expiry };
}

async function draft(
  app: App,
  addresses: EpochAddresses,
  open: {
    root: Buffer;
    total: bigint;
    leaves: number;
    expiry: number;
    decimals: number;
    from: Address;
    treasury: Address;
    isVaultThere: boolean;
    /** The statement about the points of the epoch; null when the epoch has no points file. */
    memo: string | null;
  },
): Promise<TransactionDraft> {
  const { program, authority, mint } = addresses;
  const payer = app.chain.key('feePayer').publicKey;
  const { root, total, leaves, expiry, decimals, from, treasury } = open;
  const rents = (await rentOf(app, EPOCH_BYTES)) + (open.isVaultThere ? 0n : await rentOf(app, TOKEN_ACCOUNT_BYTES));
  return {
    do: 'sign',
    feePayer: 'feePayer',
    signers: ['treasury', 'epochAuthority'],
    instructions: [
      // Any wallet may have created the vault or sent tokens to it. So the vault is created only if it is missing, and the transfer always has the
      // full total.
      createAssociatedTokenAccount(payer, addresses.account, mint),
      transferChecked({ from, to: addresses.vault, owner: treasury, mint, decimals, amount: total }),
      openEpoch({
        program,
        payer,
        authority,
        mint,
        epoch: BigInt(addresses.epoch),
        root,
        total,
        leaves,
        expiry,
        refundOwner: treasury,
        mintMayFreeze: app.config.chain.rewardMintMayFreeze,
      }),
      ...(open.memo === null ? [] : [memo(open.memo)]),
    ],
    spends: [
      { asset: mint.toBase58(), amount: total },
      { asset: 'sol', amount: rents },
    ],
  };
}

/**
 * Handles an epoch account that exists on the chain already. Only the epoch authority can have created it.
 * @returns `done` when the account is finalized, `wait` when it is not, `manual` when its root, total or number of leaves differs
 */
async function confirmOpened(app: App, addresses: EpochAddresses, epoch: EpochRow, existing: EpochAccount): Promise<ComposeOutcome> {
  const isSame = existing.root.equals(epoch.root) && existing.total === BigInt(epoch.total) && existing.leaves === epoch.leaves;
  if (!isSame)
    return {
      do: 'manual',
      reason: `epoch ${addresses.epoch} has another root, total or number of leaves on the chain: root ${existing.root.toString('hex')}`,
    };
  const { accounts } = await readAccounts(app, 'finalized', [addresses.account]);
  const final: FetchedAccount = accounts[0] ?? null;
  if (!decodeEpoch(addresses.program, final)) return { do: 'wait', ms: RETRY_MS, reason: 'the root is on the chain but not finalized yet' };
  const expiresAt = sql<string>`to_timestamp(${existing.expiry}::float8)`;
  const update = build.updateTable('epoch_accounts').set({ expires_at: expiresAt }).where('epoch', '=', addresses.epoch);
  await app.tx((tx) => run(tx, update.where('opened_at', 'is', null)));
  const opening = await findOpening(app, addresses);
  await app.tx((tx) => compareMemo(tx, app.log, addresses.epoch, opening));
  return { do: 'done', signature: opening?.signature ?? null, slot: opening?.slot ?? null };
}
