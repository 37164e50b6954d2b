import type { PublicKey } from '@solana/web3.js';
import { lockTreasury, momentBefore, promised } from '#areas/lottery';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { decodeEpoch, EPOCH_BYTES, type EpochAccount, epochAddress, openEpoch, vaultAddress } from '#platform/solana/distributor/index.ts';
import type { Draft, Outcome, TransactionType } from '#platform/solana/submission/transactions.ts';
import {
  associatedTokenAddress,
  createAssociatedTokenAccount,
  decodeMint,
  decodeTokenAccount,
  TOKEN_ACCOUNT_BYTES,
  transferChecked,
} from '#platform/solana/tokens.ts';
import { epochCommitted } from '../events.ts';
import { type Account, readAccounts, rentOf } from './accounts.ts';
import { type Place, type PlaceRow, placeOf } from './epoch-accounts.ts';
import { findOpening } from './history.ts';
import { isProgramOurs } from './program.ts';
import { SETTLED, settleUncommitted } from './settlement.ts';

/** How long until a root that cannot be signed is looked at again, ms. */
const HELD_MS = 30_000;
const SOON_MS = 1_000;

interface EpochRow {
  state: string;
  root: Buffer;
  total: string;
  leaves: number;
  settling: boolean;
  signature: string | null;
}

const selectEpoch = statement<EpochRow>(
  'select_epoch_to_commit',
  `select state, root, total::text, leaves, settle_requested_at is not null as settling, commit_signature as signature from epochs where epoch = $1`,
);

// An epoch expires some hours after its days are over: the program counts from when it is opened, by the chain's clock. What was chosen
// within the last hour stays, so that two who compose at once choose the same.
const choosePlace = statement<PlaceRow & { expiry: number }>(
  'choose_epoch_place',
  `insert into epoch_accounts as a (epoch, program, authority, mint, address, vault, expires_at)
   select epoch, $2, $3, $4, $5, $6, date_trunc('hour', app_now()) + make_interval(days => expiry_days, hours => 3) from epochs where epoch = $1
   on conflict (epoch) do update set program = excluded.program, authority = excluded.authority, mint = excluded.mint, address = excluded.address,
     vault = excluded.vault,
     expires_at = case when a.expires_at >= excluded.expires_at - interval '1 hour' then a.expires_at else excluded.expires_at end
   where a.opened_at is null
   returning epoch, program, authority, mint, address, vault, extract(epoch from expires_at)::float8 as expiry`,
);
const keepExpiry = statement(
  'keep_epoch_expiry',
  `update epoch_accounts set expires_at = to_timestamp($2::float8) where epoch = $1 and opened_at is null`,
);

const lockEpochs = statement<{ epoch: number }>(
  'lock_epochs_to_commit',
  `select epoch from epochs where epoch = any($1::int[]) and state = 'computed' and settle_requested_at is null order by epoch for share`,
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
     to_char(o.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as expires_at`,
);

/**
 * Puts an epoch's root on the chain: its vault, exactly its total, and the opening, in one transaction. Its address, which is
 * used once, keeps it from happening twice.
 */
export const epochRoot: TransactionType = {
  name: 'epoch-root',
  scope: 'roots',
  afterFailure: 'again',
  compose,
  // Nothing of an epoch is given up: people are told, and it is tried again.
  async refused(app, subject, error) {
    app.log.error({ epoch: subject, error }, 'the root of an epoch is refused by the chain');
    return { do: 'wait', ms: HELD_MS, reason: error.message };
  },
  async signed(tx, { subject, draft }) {
    await stillFree.get(draft)?.(tx);
    if ((await tx.query(lockEpochs, [[Number(subject)]])).length === 0) throw fail(409, `epoch ${subject} is not to be committed any more`);
  },
  async finalized(tx, landings) {
    const epochs = landings.map(({ subject }) => Number(subject));
    for (const row of await tx.query(commitEpochs, [epochs, landings.map(({ signature }) => signature)])) {
      const { epoch, root, total, leaves, signature, expires_at } = row;
      tx.emit(epochCommitted, { epoch, root, total, leaves, signature, expiresAt: expires_at });
    }
  },
  async failed(tx, failures) {
    await settleUncommitted(
      tx,
      failures.map(({ subject }) => Number(subject)),
    );
  },
};

async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const epoch = (await app.db.query(selectEpoch, [Number(subject)]))[0];
  if (!epoch) return { do: 'manual', reason: `there is no epoch ${subject}` };
  if (epoch.state === 'settled') return { do: 'fail', error: SETTLED };
  if (epoch.state !== 'computed') return { do: 'done', signature: epoch.signature, slot: null };
  const { place, expiry } = await choose(app, Number(subject));
  const treasury = app.chain.key('treasury').publicKey;
  const from = associatedTokenAddress(treasury, place.mint);
  const since = await momentBefore(app);
  const { accounts } = await readAccounts(app, 'confirmed', [place.account, place.vault, from, place.mint]);
  const [account = null, vault = null, source = null, mint = null] = accounts;

  const there = decodeEpoch(place.program, account);
  if (there) return await found(app, place, epoch, there);
  if (epoch.settling) return { do: 'fail', error: SETTLED };
  if (!(await isProgramOurs(app))) {
    app.log.error({ program: place.program.toBase58() }, 'the program on the chain is not the one that is committed: no epoch is opened');
    return { do: 'wait', ms: HELD_MS, reason: 'the program on the chain is not the one that is committed' };
  }
  const total = BigInt(epoch.total);
  const held = decodeTokenAccount(source)?.amount ?? 0n;
  const free = async (db: Queryable) => held - (await promised(app, db, 'reward', since));
  const left = await free(app.db);
  if (left < total) {
    app.log.error({ epoch: subject, held: String(held), free: String(left), total: epoch.total }, 'the treasury holds less than an epoch needs');
    const reason = `of ${held} that the treasury holds, ${left} are neither reserved for rounds nor owed, and the epoch needs ${total}`;
    return { do: 'wait', ms: HELD_MS, reason };
  }
  const token = decodeMint(mint);
  if (!token) return { do: 'manual', reason: `${place.mint.toBase58()} is not an SPL mint` };
  const drafted = await draft(app, place, { ...epoch, total, expiry, decimals: token.decimals, from, treasury, isVaultThere: vault !== null });
  stillFree.set(drafted, async (tx) => {
    await lockTreasury(tx);
    if ((await free(tx)) < total) throw fail(409, `what epoch ${subject} needs of the treasury was promised to others meanwhile`);
  });
  return drafted;
}

/** What a draft takes may be promised to a round before it is signed. */
const stillFree = new WeakMap<Draft, (tx: Tx) => Promise<void>>();

/** Where this epoch is to be, and when it expires. What has been opened is left where it is. */
async function choose(app: App, epoch: number): Promise<{ place: Place; expiry: number }> {
  const { programId: program, rewardMint: mint } = app.chain;
  const authority = app.chain.key('epochAuthority').publicKey;
  const address = epochAddress(program, authority, mint, BigInt(epoch));
  const values = [epoch, ...[program, authority, mint, address, vaultAddress(address, mint)].map((key) => key.toBase58())];
  const row = await app.tx(async (tx) => (await tx.query(choosePlace, values))[0]);
  if (!row) throw fail(409, `epoch ${epoch} is on the chain already`);
  return { place: placeOf(row), expiry: row.expiry };
}

async function draft(
  app: App,
  place: Place,
  open: {
    root: Buffer;
    total: bigint;
    leaves: number;
    expiry: number;
    decimals: number;
    from: PublicKey;
    treasury: PublicKey;
    isVaultThere: boolean;
  },
): Promise<Draft> {
  const { program, authority, mint } = place;
  const payer = app.chain.key('feePayer').publicKey;
  const { root, total, leaves, expiry, decimals, from, treasury } = open;
  const rents = (await rentOf(app, EPOCH_BYTES)) + (open.isVaultThere ? 0n : await rentOf(app, TOKEN_ACCOUNT_BYTES));
  return {
    do: 'sign',
    feePayer: 'feePayer',
    signers: ['treasury', 'epochAuthority'],
    instructions: [
      // Anybody may have opened the vault, or paid into it: it gets its total from us all the same.
      createAssociatedTokenAccount(payer, place.account, mint),
      transferChecked({ from, to: place.vault, owner: treasury, mint, decimals, amount: total }),
      openEpoch({
        program,
        payer,
        authority,
        mint,
        epoch: BigInt(place.epoch),
        root,
        total,
        leaves,
        expiry,
        refundOwner: treasury,
        mintMayFreeze: app.config.chain.rewardMintMayFreeze,
      }),
    ],
    spends: [
      { asset: mint.toBase58(), amount: total },
      { asset: 'sol', amount: rents },
    ],
  };
}

/** There is an epoch at this address already. Only one of ours can be there: it takes our authority's signature. */
async function found(app: App, place: Place, epoch: EpochRow, there: EpochAccount): Promise<Outcome> {
  const isSame = there.root.equals(epoch.root) && there.total === BigInt(epoch.total) && there.leaves === epoch.leaves;
  if (!isSame) return { do: 'manual', reason: `the chain has another root for epoch ${place.epoch}: ${there.root.toString('hex')}` };
  const { accounts } = await readAccounts(app, 'finalized', [place.account]);
  const final: Account = accounts[0] ?? null;
  if (!decodeEpoch(place.program, final)) return { do: 'wait', ms: SOON_MS, reason: 'the root is on the chain, and not final yet' };
  await app.tx((tx: Tx) => tx.query(keepExpiry, [place.epoch, there.expiry]));
  const opening = await findOpening(app, place);
  return { do: 'done', signature: opening?.signature ?? null, slot: opening?.slot ?? null };
}
